// The head of an HTTP/1.x request, read from what has come so far. Strict: what is not plainly a GET or HEAD without a
// body is refused with a status code.
//
// Thread safety: none; values view the text they were read from. Cost: one pass over the text, no allocation.
// Example: probe/live/test/http_request_test.cpp
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace plx::probe {

struct http_request {
  std::string_view path;           // "/counters.json", as it was sent
  std::string_view query;          // what stands after '?'
  std::string_view host;           // of the Host header; "" when there is none
  std::string_view authorization;  // of the Authorization header
  bool head_only = false;          // HEAD
  bool keep_alive = true;

  /// The value of a field of the query, its percent-escapes replaced; nothing when it is not there, "" for "a" and
  /// "a=".
  [[nodiscard]] std::optional<std::string> field(std::string_view name) const;
};

/// A request, or how many bytes are wanted, or what is wrong with it.
struct http_parsed {
  enum kind_t { incomplete, complete, refused };
  kind_t kind = incomplete;
  int status = 0;          // of a refusal: 400 405 413 414 431 505
  std::size_t length = 0;  // of the head, when complete
  http_request request{};
};

/// More than this is refused without reading on.
inline constexpr std::size_t http_head_limit = 8192;

/// Reads the beginning of what a client sent.
http_parsed parse_http_request(std::string_view text);

}  // namespace plx::probe
