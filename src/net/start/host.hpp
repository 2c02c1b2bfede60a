// Identity and addresses of this host, for start-up: which localities share a host, and how to connect to it.
//
// Thread safety: everything.
#pragma once

#include <string>
#include <vector>

namespace plx::net::detail {

/// Equal for processes that share a running kernel and its network namespace, and only for those.
std::string host_key();
/// Whether the network 127.0.0.0/8 can be used.
bool has_loopback();
/// The addresses of the network devices that are up, each as the bytes of a sockaddr; without loopback and link-local
/// addresses.
std::vector<std::string> host_addresses();

// Detects the launcher of this process by the environment variables that launchers set.
//
// Thread safety: as getenv. Example: net/transport/test/find_transport_test.cpp

/// Whether PMIx is offered: PMIX_RANK and PMIX_NAMESPACE are set.
bool offers_pmix() noexcept;
/// The name of a variable which shows that this process is one of several; null if none is set.
const char* launched_by() noexcept;

}  // namespace plx::net::detail
