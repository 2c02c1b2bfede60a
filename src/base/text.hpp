// The known word nearest to a mistyped one, for "did you mean".
//
// Thread safety: everything. Cost: O(words x letters^2). Example: base/test/nearest_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plx {

// Texts in JSON.
//
// Thread safety: everything. Cost: O(length), one allocation. Example: base/test/json_text_test.cpp

/// In quotes, with what JSON wants escaped. Bytes that are no UTF-8 become U+FFFD, because readers refuse a whole file
/// for one. Also safe inside an HTML script: '<' is escaped.
std::string json_text(std::string_view text);

/// The number of letters to insert, drop, change, or swap with a neighbour to make `a` from `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known`, or "" when none is near: at most a third of the letters, and at least two, may differ. A
/// word that is the last dotted part of a known one counts as near: "max_level" finds "mesh.max_level".
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean 'x'?", or "" when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace plx
