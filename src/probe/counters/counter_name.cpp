#include "probe/counters/counter_name.hpp"

namespace plx::probe {

namespace {

constexpr std::size_t none = std::string_view::npos;

/// The position of the brace that closes the one at `open`.
std::size_t matching_brace(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return none;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

/// A list element without the enclosing braces.
std::string_view unquoted(std::string_view element) {
  element = trimmed(element);
  while (!element.empty() && element.front() == '{' && matching_brace(element, 0) == element.size() - 1)
    element = trimmed(element.substr(1, element.size() - 2));
  return element;
}

bool is_number(std::string_view s) { return !s.empty() && s.find_first_not_of("0123456789") == none; }

}  // namespace

std::optional<counter_name> counter_name::parse(std::string_view text) {
  if (text.empty() || text[0] != '/') return std::nullopt;
  text.remove_prefix(1);
  counter_name parts;
  const std::size_t object_end = text.find_first_of("{}/");
  if (object_end == 0 || object_end == none) return std::nullopt;
  parts.object = text.substr(0, object_end);
  text.remove_prefix(object_end);
  if (text[0] == '{') {
    const std::size_t close = matching_brace(text, 0);
    if (close == none || close == 1) return std::nullopt;
    parts.instance = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
  }
  if (text.empty() || text[0] != '/') return std::nullopt;
  text.remove_prefix(1);
  const std::size_t at = text.find('@');
  parts.name = text.substr(0, at);
  if (at != none) parts.parameters = text.substr(at + 1);
  if (parts.name.empty() || parts.name.find_first_of("{}") != none) return std::nullopt;
  return parts;
}

std::string_view counter_name::locality() const {
  constexpr std::string_view word = "locality#";
  return instance.starts_with(word) ? instance.substr(word.size(), instance.find('/') - word.size())
                                    : std::string_view{};
}

std::optional<std::vector<std::string>> split_counters(std::string_view list) {
  std::vector<std::string> elements;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '{') ++depth;
    if (c == '}' && --depth < 0) return std::nullopt;
    if (i == list.size() && depth != 0) return std::nullopt;
    if (c != ',' || depth != 0) continue;
    const auto element = unquoted(list.substr(begin, i - begin));
    if (is_number(element) && !elements.empty())
      (elements.back() += ',') += element;  // the second parameter of the element before
    else if (!element.empty())
      elements.emplace_back(element);
    begin = i + 1;
  }
  return elements;
}

/// Greedy with one-step backtracking: on a mismatch the last '*' takes one more letter.
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
