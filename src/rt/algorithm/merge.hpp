// merge: combines two sorted ranges into one.
//
// Thread safety: comparisons are called from several workers concurrently. Cost: at most n1 + n2 - 1 comparisons and a
// few per chunk; stable; no allocation unless another worker joins. Iterators without random access are traversed in
// order by the caller. Example: algorithm/test/sort_test.cpp.
#pragma once

#include <algorithm>
#include <functional>

#include "rt/algorithm/detail/common.hpp"

namespace plx {
namespace detail {

// A merge that can be split at any position of the output: the position in the two inputs that corresponds to output
// index k is found by bisection (the "merge path"), so parts of the output are merged independently of each other.
// Cost: n moves and comparisons, 2 log2(n) comparisons per chunk. Equal elements of the first input come first.
// Source: Odeh, Green, Mwassi, Shmueli, Birk, "Merge Path" (2012).

/// The number of the first k merged elements that come from the first input.
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

template <class It1, class It2>
inline constexpr bool merges_blindly =
    std::is_same_v<value_of<It1>, value_of<It2>>&& std::is_trivially_copyable_v<value_of<It1>> &&
    sizeof(value_of<It1>) <= 16;

/// Writes the first `left` merged elements of the sorted a and b to `to`; moves them if `Move`.
template <bool Move, class It1, class It2, class Out, class Less>
void merge_some(It1 a, std::int64_t left_a, It2 b, std::int64_t left_b, std::int64_t left, Out to, Less& less) {
  const auto take = [&to](auto& it) {
    if constexpr (Move)
      *to = std::move(*it);
    else
      *to = *it;
    ++to;
    ++it;
  };
  if constexpr (merges_blindly<It1, It2>) {
    // Without an unpredictable branch: as many steps as can be made without exhausting either input.
    for (std::int64_t safe; (safe = std::min({left, left_a, left_b})) > 0;) {
      const It1 a_then = a;
      for (std::int64_t k = 0; k < safe; ++k, ++to) {
        const auto x = *a, y = *b;
        const bool second = less(y, x);
        *to = second ? y : x;
        a += static_cast<step_of<It1>>(!second);
        b += static_cast<step_of<It2>>(second);
      }
      const std::int64_t of_a = a - a_then;
      left -= safe;
      left_a -= of_a;
      left_b -= safe - of_a;
    }
  }
  for (; left > 0 && left_a > 0 && left_b > 0; --left) {
    if (less(*b, *a)) {
      take(b);
      --left_b;
    } else {
      take(a);
      --left_a;
    }
  }
  for (; left > 0 && left_a > 0; --left, --left_a) take(a);
  for (; left > 0; --left) take(b);
}

/// Merges the sorted a and b into `out`, which overlaps neither; moves the elements if `Move`.
template <bool Move, class It1, class It2, class Out, class Less>
void merge_pieces(const spread& how, It1 a, std::int64_t n_a, It2 b, std::int64_t n_b, Out out, Less& less) {
  const std::int64_t n = n_a + n_b;
  if constexpr (Move && !std::is_trivially_copyable_v<value_of<It1>>) {
    // Elements that were moved from cannot be compared, so all split points are found first.
    const chunking chunks(how, n, 4096, 16384);
    const temporary<std::int64_t> cuts(chunks.count + 1);
    for (std::int64_t c = 0; c < chunks.count; ++c) cuts[c] = merge_path(a, n_a, b, n_b, chunks.begin(c), less);
    cuts[chunks.count] = n_a;
    in_pieces(over_chunks(how), chunks.count, [&, a, b, out](std::int64_t c, std::int64_t c_end) {
      for (; c < c_end; ++c) {
        const std::int64_t begin = chunks.begin(c), end = chunks.end(c);
        const std::int64_t i = cuts[c], j = begin - i, i_end = cuts[c + 1], j_end = end - i_end;
        merge_some<Move>(at(a, i), i_end - i, at(b, j), j_end - j, end - begin, at(out, begin), less);
      }
    });
  } else {
    in_pieces(how, n, [&, a, b, out](std::int64_t begin, std::int64_t end) {
      const std::int64_t i = merge_path(a, n_a, b, n_b, begin, less), j = begin - i;
      merge_some<Move>(at(a, i), n_a - i, at(b, j), n_b - j, end - begin, at(out, begin), less);
    });
  }
}

}  // namespace detail

/// Copies the elements of two sorted ranges in order to `out`, which overlaps neither; of equal elements those of the
/// first range come first. Returns the end of the output.
template <execution_policy Policy, detail::forward_it It1, detail::forward_it It2, detail::output_it Out,
          class Less = std::less<>>
auto merge(const Policy& policy, It1 first1, It1 last1, It2 first2, It2 last2, Out out, Less less = {}) {
  return detail::perform(policy, [=](const detail::spread& how) mutable -> Out {
    if constexpr (std::random_access_iterator<It1> && std::random_access_iterator<It2> && detail::shareable_it<Out>) {
      const std::int64_t n1 = last1 - first1, n2 = last2 - first2;
      detail::merge_pieces<false>(how, first1, n1, first2, n2, out, less);
      return detail::at(out, n1 + n2);
    } else {
      return std::merge(first1, last1, first2, last2, out, std::ref(less));
    }
  });
}
template <execution_policy Policy, detail::sized_range Range1, detail::sized_range Range2, detail::output_it Out,
          class Less = std::less<>>
auto merge(const Policy& policy, Range1&& range1, Range2&& range2, Out out, Less less = {}) {
  return plx::merge(policy, std::begin(range1), std::end(range1), std::begin(range2), std::end(range2), out,
                    std::move(less));
}

}  // namespace plx
