// for_each, for_each_n: a function on each element, in parallel.
//
// Thread safety: the function is called from several workers concurrently, on different elements. Cost: that of a
// for_loop; no allocation unless another worker joins. Iterators without random access, and those of a vector<bool>,
// whose elements share words, are traversed in order by the caller.
// Example: algorithm/test/for_each_test.cpp.
#pragma once

#include "rt/algorithm/detail/common.hpp"

namespace plx {
namespace detail {

/// f(*it) for n elements; returns the end iterator.
template <bool Unsequenced, class It, class F>
It walk(const spread& how, It first, std::int64_t n, F& f) {
  if constexpr (shareable_it<It>) {
    in_pieces(how, n, [&f, first](std::int64_t begin, std::int64_t end) {
      each_index<Unsequenced>(0, end - begin, [&f, here = at(first, begin)](std::int64_t i) { f(*at(here, i)); });
    });
    return n > 0 ? at(first, n) : first;
  } else {
    for (; n > 0; --n, ++first) f(*first);
    return first;
  }
}

}  // namespace detail

/// f(element) for each element. The result of f is ignored.
template <execution_policy Policy, detail::forward_it It, class F>
auto for_each(const Policy& policy, It first, It last, F f) {
  return detail::perform(policy, [first, last, f = std::move(f)](const detail::spread& how) mutable {
    detail::walk<Policy::is_unsequenced>(how, first, static_cast<std::int64_t>(std::distance(first, last)), f);
  });
}
template <execution_policy Policy, detail::sized_range Range, class F>
auto for_each(const Policy& policy, Range&& range, F f) {
  return plx::for_each(policy, std::begin(range), std::end(range), std::move(f));
}

/// f(element) for the first `n` elements; returns the iterator past them. A negative `n` counts as 0.
template <execution_policy Policy, detail::forward_it It, class Size, class F>
auto for_each_n(const Policy& policy, It first, Size n, F f) {
  return detail::perform(policy, [first, n, f = std::move(f)](const detail::spread& how) mutable {
    return detail::walk<Policy::is_unsequenced>(how, first, static_cast<std::int64_t>(n), f);
  });
}

}  // namespace plx
