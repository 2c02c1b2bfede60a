// count, count_if, min_element, max_element, minmax_element: reductions with plain results.
//
// Thread safety: predicates and comparisons are called from several workers concurrently. Cost: n calls; a small value
// per chunk (reduce.hpp). Iterators without random access are traversed in order by the caller. Example:
// algorithm/test/reduce_test.cpp.
#pragma once

#include <algorithm>
#include <functional>

#include "rt/algorithm/reduce.hpp"

namespace plx {
namespace detail {

/// The extreme element by `better(candidate, so far)`: the first of equal ones, or the last with !better(so far, it).
template <class It, class Better>
std::int64_t extreme(const spread& how, It first, std::int64_t n, Better better) {
  const auto leaf = [&](std::int64_t i, std::int64_t end) {
    std::int64_t best = i;
    for (++i; i < end; ++i)
      if (better(at(first, i), at(first, best))) best = i;
    return best;
  };
  return reduce_chunks<std::int64_t>(how, chunking(how, n), leaf, [&](std::int64_t a, std::int64_t b) {
    return better(at(first, b), at(first, a)) ? b : a;
  });
}

}  // namespace detail

/// The number of elements that satisfy pred(element).
template <execution_policy Policy, detail::forward_it It, class Pred>
auto count_if(const Policy& policy, It first, It last, Pred pred) {
  return detail::perform(
      policy, [first, last, pred = std::move(pred)](const detail::spread& how) mutable -> detail::step_of<It> {
        if constexpr (std::random_access_iterator<It>) {
          const std::int64_t n = last - first;
          if (n <= 0) return 0;
          const auto leaf = [&](std::int64_t i, std::int64_t end) {
            std::int64_t found = 0;
            for (; i < end; ++i) found += pred(*detail::at(first, i)) ? 1 : 0;
            return found;
          };
          return static_cast<detail::step_of<It>>(detail::reduce_chunks<std::int64_t>(
              how, detail::chunking(how, n), leaf, [](std::int64_t a, std::int64_t b) { return a + b; }));
        } else {
          return std::count_if(first, last, std::ref(pred));
        }
      });
}
template <execution_policy Policy, detail::sized_range Range, class Pred>
auto count_if(const Policy& policy, Range&& range, Pred pred) {
  return plx::count_if(policy, std::begin(range), std::end(range), std::move(pred));
}
/// The number of elements equal to `value`.
template <execution_policy Policy, detail::forward_it It, class T>
auto count(const Policy& policy, It first, It last, const T& value) {
  return plx::count_if(policy, first, last, [value](const auto& x) { return x == value; });
}
template <execution_policy Policy, detail::sized_range Range, class T>
auto count(const Policy& policy, Range&& range, const T& value) {
  return plx::count(policy, std::begin(range), std::end(range), value);
}

/// The first of the smallest elements; `last` if the range is empty.
template <execution_policy Policy, detail::forward_it It, class Less = std::less<>>
auto min_element(const Policy& policy, It first, It last, Less less = {}) {
  return detail::perform(policy, [=](const detail::spread& how) mutable {
    if constexpr (std::random_access_iterator<It>) {
      if (first == last) return last;
      return detail::at(first, detail::extreme(how, first, last - first, [&](It a, It b) { return less(*a, *b); }));
    } else {
      return std::min_element(first, last, std::ref(less));
    }
  });
}
template <execution_policy Policy, detail::sized_range Range, class Less = std::less<>>
auto min_element(const Policy& policy, Range&& range, Less less = {}) {
  return plx::min_element(policy, std::begin(range), std::end(range), std::move(less));
}

/// The first of the largest elements; `last` if the range is empty.
template <execution_policy Policy, detail::forward_it It, class Less = std::less<>>
auto max_element(const Policy& policy, It first, It last, Less less = {}) {
  return plx::min_element(policy, first, last,
                          [less = std::move(less)](const auto& a, const auto& b) mutable { return less(b, a); });
}
template <execution_policy Policy, detail::sized_range Range, class Less = std::less<>>
auto max_element(const Policy& policy, Range&& range, Less less = {}) {
  return plx::max_element(policy, std::begin(range), std::end(range), std::move(less));
}

/// The first of the smallest and the last of the largest elements; a pair of `last` if the range is empty.
template <execution_policy Policy, detail::forward_it It, class Less = std::less<>>
auto minmax_element(const Policy& policy, It first, It last, Less less = {}) {
  return detail::perform(policy, [=](const detail::spread& how) mutable -> std::pair<It, It> {
    if constexpr (std::random_access_iterator<It>) {
      using both = std::pair<std::int64_t, std::int64_t>;
      if (first == last) return {last, last};
      const auto is_less = [&](std::int64_t a, std::int64_t b) {
        return static_cast<bool>(less(*detail::at(first, a), *detail::at(first, b)));
      };
      const auto join = [&](const both& a, const both& b) {
        return both(is_less(b.first, a.first) ? b.first : a.first, is_less(b.second, a.second) ? a.second : b.second);
      };
      const auto leaf = [&](std::int64_t i, std::int64_t end) {
        both all(i, i);
        for (++i; i < end; ++i) all = join(all, both(i, i));
        return all;
      };
      const both all = detail::reduce_chunks<both>(how, detail::chunking(how, last - first), leaf, join);
      return {detail::at(first, all.first), detail::at(first, all.second)};
    } else {
      return std::minmax_element(first, last, std::ref(less));
    }
  });
}
template <execution_policy Policy, detail::sized_range Range, class Less = std::less<>>
auto minmax_element(const Policy& policy, Range&& range, Less less = {}) {
  return plx::minmax_element(policy, std::begin(range), std::end(range), std::move(less));
}

}  // namespace plx
