// sort, stable_sort: parallel sorts with the same result on every schedule.
//
// Thread safety: comparisons are called from several workers concurrently. Cost: sort: in place, O(n log n) comparisons
// in the worst case, n - 1 if the elements are already in order; stable_sort: memory for n elements, O(n log n) moves;
// types whose move constructor may throw are sorted by one worker. The order of equal elements after sort() is not
// their original one, but does not depend on the number of workers or the schedule. Example: algorithm/sort_test.cpp.
#pragma once

#include <functional>

#include "rt/algorithm/detail/sort.hpp"

namespace plx {

/// As std::sort.
template <execution_policy Policy, std::random_access_iterator It, class Less = std::less<>>
auto sort(const Policy& policy, It first, It last, Less less = {}) {
  return detail::perform(policy, [=](const detail::spread& how) mutable {
    if constexpr (detail::shareable_it<It>)
      detail::sort_range(how, first, last - first, less);
    else
      std::sort(first, last, std::ref(less));
  });
}
template <execution_policy Policy, detail::sized_range Range, class Less = std::less<>>
auto sort(const Policy& policy, Range&& range, Less less = {}) {
  return plx::sort(policy, std::begin(range), std::end(range), std::move(less));
}

/// Equal elements keep their order.
template <execution_policy Policy, std::random_access_iterator It, class Less = std::less<>>
auto stable_sort(const Policy& policy, It first, It last, Less less = {}) {
  return detail::perform(policy, [=](const detail::spread& how) mutable {
    if constexpr (detail::shareable_it<It>)
      detail::stable_sort_range(how, first, last - first, less);
    else
      std::stable_sort(first, last, std::ref(less));
  });
}
template <execution_policy Policy, detail::sized_range Range, class Less = std::less<>>
auto stable_sort(const Policy& policy, Range&& range, Less less = {}) {
  return plx::stable_sort(policy, std::begin(range), std::end(range), std::move(less));
}

/// True if no element is smaller than its predecessor.
template <execution_policy Policy, detail::forward_it It, class Less = std::less<>>
auto is_sorted(const Policy& policy, It first, It last, Less less = {}) {
  return detail::perform(policy, [=](const detail::spread& how) mutable {
    if constexpr (std::random_access_iterator<It>)
      return detail::is_sorted_already(how, first, last - first, less);
    else
      return std::is_sorted(first, last, std::ref(less));
  });
}
template <execution_policy Policy, detail::sized_range Range, class Less = std::less<>>
auto is_sorted(const Policy& policy, Range&& range, Less less = {}) {
  return plx::is_sorted(policy, std::begin(range), std::end(range), std::move(less));
}

}  // namespace plx
