#include "probe/counter_name.hpp"

namespace plx::probe {

std::optional<counter_name> counter_name::parse(std::string_view text) {
  if (text.empty() || text[0] != '/') return std::nullopt;
  text.remove_prefix(1);
  counter_name parts;
  const std::size_t object_end = text.find_first_of("{/");
  if (object_end == 0 || object_end == std::string_view::npos) return std::nullopt;
  parts.object = text.substr(0, object_end);
  text.remove_prefix(object_end);
  if (text[0] == '{') {
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos || close == 1) return std::nullopt;
    parts.instance = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
  }
  if (text.empty() || text[0] != '/') return std::nullopt;
  text.remove_prefix(1);
  const std::size_t at = text.find('@');
  parts.name = text.substr(0, at);
  if (at != std::string_view::npos) parts.parameters = text.substr(at + 1);
  if (parts.name.empty() || parts.name.find_first_of("{}") != std::string_view::npos) return std::nullopt;
  return parts;
}

/// Greedy with one step back: on a mismatch the last '*' takes one more letter.
bool wildcard_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches(const counter_name& pattern, const counter_name& name) {
  const bool instance = pattern.instance.empty()
                            ? name.instance.empty() || name.instance == "total" || name.instance.ends_with("/total")
                            : wildcard_match(pattern.instance, name.instance);
  return instance && wildcard_match(pattern.object, name.object) && wildcard_match(pattern.name, name.name) &&
         wildcard_match(pattern.parameters, name.parameters);
}

}  // namespace plx::probe
