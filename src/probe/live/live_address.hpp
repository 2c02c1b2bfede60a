// Where the live page listens: "127.0.0.1:0", "[::1]:8080", "localhost:8080", ":8080"; "1" is "127.0.0.1:0".
//
// Thread safety: everything. Cost: none to speak of. Example: probe/live/test/live_address_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx::probe {

struct live_address {
  std::string host = "127.0.0.1";  // an IPv4 or IPv6 address, without brackets
  std::uint16_t port = 0;          // 0: any that is free
  bool loopback = true;            // only this machine reaches it

  /// As it stands in a URL: "127.0.0.1:8080", "[::1]:8080".
  [[nodiscard]] std::string text() const;
};

/// Errors: no address; one that other machines reach, unless `beyond_loopback`.
result<live_address> parse_live_address(std::string_view text, bool beyond_loopback);

/// Whether a Host header's value names a machine in a way that a web page of somebody else cannot bring about by giving
/// its own name this machine's address (DNS rebinding): an address, "localhost", or this machine's own name.
bool trusted_host(std::string_view host);

}  // namespace plx::probe
