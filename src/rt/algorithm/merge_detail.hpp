// Merging that divides at any place of the output: where output index k falls in the two inputs is found by bisection
// (the "merge path"), so pieces of the output are merged independently of each other.
//
// Stability: of equal elements those of the first input come first. Thread safety: comparisons are called from several
// workers at once. Cost: n moves and comparisons, 2 log2(n) comparisons per piece. Example: algorithm/sort_test.cpp.
// Source: Odeh, Green, Mwassi, Shmueli, Birk, "Merge Path" (2012).
#pragma once

#include <algorithm>

#include "rt/algorithm/common_detail.hpp"

namespace plx::detail {

/// How many of the first k merged elements come from the first input.
template <class It1, class It2, class Less>
std::int64_t merge_path(It1 a, std::int64_t n_a, It2 b, std::int64_t n_b, std::int64_t k, Less& less) {
  std::int64_t low = k > n_b ? k - n_b : 0, high = k < n_a ? k : n_a;
  while (low < high) {
    const std::int64_t i = low + (high - low) / 2;  // is a[i] among the first k?
    if (less(*at(b, k - i - 1), *at(a, i)))
      high = i;
    else
      low = i + 1;
  }
  return low;
}

/// Merges the sorted a and b to `out`, which overlaps neither; elements are moved when `Move`.
template <bool Move, class It1, class It2, class Out, class Less>
void merge_pieces(const spread& how, It1 a, std::int64_t n_a, It2 b, std::int64_t n_b, Out out, Less& less) {
  in_pieces(how, n_a + n_b, [&, a, b, out](std::int64_t begin, std::int64_t end) {
    std::int64_t i = merge_path(a, n_a, b, n_b, begin, less), j = begin - i;
    Out to = at(out, begin);
    const auto take = [&to](auto&& it) {
      if constexpr (Move)
        *to = std::move(*it);
      else
        *to = *it;
      ++to;
    };
    It1 from_a = at(a, i);
    It2 from_b = at(b, j);
    std::int64_t left = end - begin, left_a = n_a - i, left_b = n_b - j;
    for (; left > 0 && left_a > 0 && left_b > 0; --left) {
      if (less(*from_b, *from_a)) {
        take(from_b);
        ++from_b;
        --left_b;
      } else {
        take(from_a);
        ++from_a;
        --left_a;
      }
    }
    for (; left > 0 && left_a > 0; --left, --left_a, ++from_a) take(from_a);
    for (; left > 0; --left, ++from_b) take(from_b);
  });
}

}  // namespace plx::detail
