// The address of the live page: "127.0.0.1:0", "[::1]:8080", "localhost:8080", ":8080"; "1" is "127.0.0.1:0".
//
// Thread safety: all functions are thread-safe. Cost: negligible. Example: probe/live/test/live_address_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx::probe {

struct live_address {
  std::string host = "127.0.0.1";  // an IPv4 or IPv6 address, without brackets
  std::uint16_t port = 0;          // 0: any free port
  bool loopback = true;            // only this machine can reach it

  /// In the form used in a URL: "127.0.0.1:8080", "[::1]:8080".
  [[nodiscard]] std::string text() const;
};

/// Errors: not an address; an address that other machines can reach, unless `beyond_loopback`.
result<live_address> parse_live_address(std::string_view text, bool beyond_loopback);

/// Whether the value of a Host header is an address, "localhost", or this machine's own name. Other names are not
/// trusted: a foreign web page could map its own name to this machine's address (DNS rebinding).
bool trusted_host(std::string_view host);

}  // namespace plx::probe
