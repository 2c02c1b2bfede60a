// merge: combines two sorted ranges into one.
//
// Thread safety: comparisons are called from several workers concurrently. Cost: at most n1 + n2 - 1 comparisons and a
// few per chunk; stable; no allocation unless another worker joins. Iterators without random access are traversed in
// order by the caller. Example: algorithm/sort_test.cpp.
#pragma once

#include <functional>

#include "rt/algorithm/detail/merge.hpp"

namespace plx {

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
