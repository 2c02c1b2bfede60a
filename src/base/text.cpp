#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"

namespace plx {
namespace {

/// The length of the UTF-8 sequence at the start of `text`; 0 if it is invalid.
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

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

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

std::string printable(std::string_view text, std::size_t most_bytes) {
  std::string all;
  std::size_t end = std::min(text.size(), most_bytes);
  // Bytes 0x80 to 0xbf continue a UTF-8 sequence, which has at most three of them.
  for (int i = 0; i < 3 && end > 0 && end < text.size() && static_cast<unsigned char>(text[end]) >> 6 == 2; ++i) --end;
  const std::string_view shown = text.substr(0, end);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto byte = static_cast<unsigned char>(shown[i]);
    // U+0080 to U+009F, which terminals obey like escape sequences, are 0xc2 and the byte of the character in UTF-8.
    const bool is_c1 = byte >= 0x80 && byte < 0xa0 && i > 0 && static_cast<unsigned char>(shown[i - 1]) == 0xc2;
    if (is_c1) all.pop_back();
    if (byte < 0x20 || byte == 0x7f || is_c1)
      fmt::format_to(std::back_inserter(all), "\\x{:02x}", byte);
    else
      all += shown[i];
  }
  if (text.size() > end) all += fmt::format("... ({})", plural(text.size() - end, "more byte"));
  return all;
}

std::string noun(std::uint64_t count, std::string_view singular) {
  std::string word(singular);
  if (count == 1) return word;
  constexpr std::string_view vowels = "aeiou";
  if (word.size() > 1 && word.back() == 'y' && vowels.find(word[word.size() - 2]) == vowels.npos) {
    word.back() = 'i';
    return word + "es";
  }
  for (const std::string_view end : {"s", "x", "ch", "sh"})
    if (word.ends_with(end)) return word + "es";
  return word + "s";
}

std::string plural(std::uint64_t count, std::string_view singular) {
  return fmt::format("{} {}", count, noun(count, singular));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the dynamic program: two back (for swaps), one back, and the current one.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::string best;
  for (const std::string& k : known) {
    std::size_t d = edit_distance(word, k);
    if (k.size() > word.size() && k.ends_with(word) && k[k.size() - word.size() - 1] == '.') d = 1;
    if (d < best_distance && d < std::max(word.size(), k.size())) best_distance = d, best = k;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string found = nearest(word, known);
  return found.empty() ? "" : "; did you mean '" + found + "'?";
}

}  // namespace plx
