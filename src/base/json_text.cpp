#include "base/json_text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace plx {
namespace {

/// The length of the UTF-8 sequence that `text` begins with; 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t n = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if (byte(i) >> 6 != 2) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool no_character = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || no_character ? 0 : n;
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const std::size_t n = sequence_length(text);
    const char c = text[0];
    if (n == 0)
      quoted += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\')
      (quoted += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == 0x7f)
      fmt::format_to(std::back_inserter(quoted), "\\u{:04x}", int{c});
    else
      quoted += text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return quoted += '"';
}

}  // namespace plx
