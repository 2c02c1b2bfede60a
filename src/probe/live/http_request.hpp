// Parses the head of an HTTP/1.x request from the data received so far. Strict: anything but a valid GET or HEAD
// without a body is refused with a status code.
//
// Thread safety: none; results view the parsed text. Cost: one pass over the text, no allocation.
// Example: probe/live/test/http_request_test.cpp
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace plx::probe {

struct http_request {
  std::string_view path;           // "/counters.json", as received
  std::string_view query;          // the text after '?'
  std::string_view host;           // of the Host header; "" if absent
  std::string_view authorization;  // of the Authorization header
  bool head_only = false;          // HEAD
  bool keep_alive = true;

  /// The value of a query field with its percent-escapes replaced; nothing if it is absent, "" for "a" and "a=".
  [[nodiscard]] std::optional<std::string> field(std::string_view name) const;
};

/// A request, or incomplete input, or an error status.
struct http_parsed {
  enum kind_t { incomplete, complete, refused };
  kind_t kind = incomplete;
  int status = 0;          // of an error: 400 405 413 414 431 505
  std::size_t length = 0;  // length of the head, if complete
  http_request request{};
};

/// The maximum size of a head; a longer one is refused without further reading.
inline constexpr std::size_t http_head_limit = 8192;

/// Parses the beginning of a client's data.
http_parsed parse_http_request(std::string_view text);

}  // namespace plx::probe
