// Finds the known word nearest to a mistyped one, for "did you mean".
//
// Thread safety: all functions are thread-safe. Cost: O(words x letters^2). Example: base/test/nearest_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plx {

// JSON strings.
//
// Thread safety: all functions are thread-safe. Cost: O(length), one allocation. Example: base/test/json_text_test.cpp

/// `text` as a JSON string: quoted and escaped. Bytes that are not UTF-8 become U+FFFD, because readers reject a whole
/// file for one of them. Also safe inside an HTML script: '<' is escaped.
std::string json_text(std::string_view text);

/// The number of letters to insert, delete, replace, or swap with a neighbour to turn `b` into `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known`, or "" if none is near: up to a third of the letters, and at least two, may differ. A word
/// that is the last dotted part of a known one counts as near: "max_level" finds "mesh.max_level".
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean 'x'?", or "" if no known word is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace plx
