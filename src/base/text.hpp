// Text: trimming, a hash, JSON strings, text for terminals, counts with their nouns, and the known word nearest to a
// mistyped one, for "did you mean".
//
// Thread safety: all functions are thread-safe. Cost: O(length); of nearest() and did_you_mean() O(words x letters^2).
// Example: base/test/text_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plx {

/// `s` without the spaces around it.
std::string_view trimmed(std::string_view s);

/// FNV-1a: detects damage, not manipulation.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

/// `text` as a JSON string: quoted and escaped. Bytes that are not UTF-8 become U+FFFD, because readers reject a whole
/// file for one of them. Also safe inside an HTML script: '<' is escaped.
std::string json_text(std::string_view text);

/// `text` as one line for a terminal or a log: control characters, line breaks among them, become \\x1b etc., and what
/// exceeds `most_bytes`, from a whole character on, becomes its length. For texts that quote the user's input.
std::string printable(std::string_view text, std::size_t most_bytes = 2000);

/// "task" for one, "tasks" for any other number; also "boxes", "processes", "localities".
std::string noun(std::uint64_t count, std::string_view singular);
/// The count with its noun: "1 task", "2 tasks".
std::string plural(std::uint64_t count, std::string_view singular);

/// The number of letters to insert, delete, replace, or swap with a neighbour to turn `b` into `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known`, or "" if none is near: up to a third of the letters, and at least two, may differ. A word
/// that is the last dotted part of a known one counts as near: "max_level" finds "mesh.max_level".
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean 'x'?", or "" if no known word is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace plx
