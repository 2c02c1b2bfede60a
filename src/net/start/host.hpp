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

// Who started this process, by the variables of the environment that launchers set.
//
// Thread safety: as getenv. Example: net/transport/test/find_transport_test.cpp

/// PMIx is offered: PMIX_RANK and PMIX_NAMESPACE are set.
bool offers_pmix() noexcept;
/// A variable that says that this process is one of several; null when there is none.
const char* launched_by() noexcept;

}  // namespace plx::net::detail
