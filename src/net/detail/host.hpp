// This host, as far as others must know it: whether they are on the same, and how it is reached.
//
// Thread safety: everything.
#pragma once

#include <string>
#include <vector>

namespace plx::net::detail {

/// The same for processes that share a running kernel and its network (network namespace), and for no others.
std::string host_key();
/// The network 127.0.0.0/8 can be used.
bool has_loopback();
/// The addresses of the network devices that are up, without loopback and those valid on one link only: a sockaddr's
/// bytes each.
std::vector<std::string> host_addresses();

}  // namespace plx::net::detail
