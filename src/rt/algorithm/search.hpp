// find, find_if, find_if_not, all_of, any_of, none_of, equal: as in the standard; searches that end early.
//
// find returns the first match, as in the standard: a match ends the search in all elements after it, while those
// before it are still examined. Under par, elements after the first match may be examined, too.
//
// Thread safety: predicates are called from several workers concurrently. Cost: at most n calls; no allocation unless
// another worker joins. Iterators without random access are traversed in order by the caller. Example:
// algorithm/test/for_each_test.cpp.
#pragma once

#include <algorithm>
#include <functional>

#include "rt/algorithm/detail/common.hpp"

namespace plx {
namespace detail {

template <bool Wanted, class It, class Pred>
bool any_is(const spread& how, It first, It last, Pred& pred) {
  if constexpr (std::random_access_iterator<It>)
    return any_index(how, last - first,
                     [&](std::int64_t i) { return static_cast<bool>(pred(*at(first, i))) == Wanted; });
  else
    return std::any_of(first, last, [&](auto&& x) { return static_cast<bool>(pred(x)) == Wanted; });
}

}  // namespace detail

/// The first element that satisfies pred(element), or `last`.
template <execution_policy Policy, detail::forward_it It, class Pred>
auto find_if(const Policy& policy, It first, It last, Pred pred) {
  return detail::perform(policy, [=](const detail::spread& how) mutable -> It {
    if constexpr (std::random_access_iterator<It>)
      return detail::at(first, detail::first_index(how, last - first,
                                                   [&](std::int64_t i) { return bool(pred(*detail::at(first, i))); }));
    else
      return std::find_if(first, last, std::ref(pred));
  });
}
template <execution_policy Policy, detail::sized_range Range, class Pred>
auto find_if(const Policy& policy, Range&& range, Pred pred) {
  return plx::find_if(policy, std::begin(range), std::end(range), std::move(pred));
}
template <execution_policy Policy, detail::forward_it It, class Pred>
auto find_if_not(const Policy& policy, It first, It last, Pred pred) {
  return plx::find_if(policy, first, last, [pred = std::move(pred)](auto&& x) mutable { return !pred(x); });
}
template <execution_policy Policy, detail::sized_range Range, class Pred>
auto find_if_not(const Policy& policy, Range&& range, Pred pred) {
  return plx::find_if_not(policy, std::begin(range), std::end(range), std::move(pred));
}
template <execution_policy Policy, detail::forward_it It, class T>
auto find(const Policy& policy, It first, It last, const T& value) {
  return plx::find_if(policy, first, last, [value](const auto& x) { return x == value; });
}
template <execution_policy Policy, detail::sized_range Range, class T>
auto find(const Policy& policy, Range&& range, const T& value) {
  return plx::find(policy, std::begin(range), std::end(range), value);
}

template <execution_policy Policy, detail::forward_it It, class Pred>
auto any_of(const Policy& policy, It first, It last, Pred pred) {
  return detail::perform(
      policy, [=](const detail::spread& how) mutable { return detail::any_is<true>(how, first, last, pred); });
}
template <execution_policy Policy, detail::sized_range Range, class Pred>
auto any_of(const Policy& policy, Range&& range, Pred pred) {
  return plx::any_of(policy, std::begin(range), std::end(range), std::move(pred));
}
template <execution_policy Policy, detail::forward_it It, class Pred>
auto all_of(const Policy& policy, It first, It last, Pred pred) {
  return detail::perform(
      policy, [=](const detail::spread& how) mutable { return !detail::any_is<false>(how, first, last, pred); });
}
template <execution_policy Policy, detail::sized_range Range, class Pred>
auto all_of(const Policy& policy, Range&& range, Pred pred) {
  return plx::all_of(policy, std::begin(range), std::end(range), std::move(pred));
}
template <execution_policy Policy, detail::forward_it It, class Pred>
auto none_of(const Policy& policy, It first, It last, Pred pred) {
  return detail::perform(
      policy, [=](const detail::spread& how) mutable { return !detail::any_is<true>(how, first, last, pred); });
}
template <execution_policy Policy, detail::sized_range Range, class Pred>
auto none_of(const Policy& policy, Range&& range, Pred pred) {
  return plx::none_of(policy, std::begin(range), std::end(range), std::move(pred));
}

/// True if both ranges have the same length and same(a, b) holds for every pair.
template <execution_policy Policy, detail::forward_it It1, detail::forward_it It2, class Same = std::equal_to<>>
auto equal(const Policy& policy, It1 first1, It1 last1, It2 first2, It2 last2, Same same = {}) {
  return detail::perform(policy, [=](const detail::spread& how) mutable {
    if constexpr (std::random_access_iterator<It1> && std::random_access_iterator<It2>)
      return last1 - first1 == last2 - first2 && !detail::any_index(how, last1 - first1, [&](std::int64_t i) {
               return !same(*detail::at(first1, i), *detail::at(first2, i));
             });
    else
      return std::equal(first1, last1, first2, last2, std::ref(same));
  });
}
/// The second range must be at least as long as the first.
template <execution_policy Policy, detail::forward_it It1, detail::forward_it It2, class Same = std::equal_to<>>
requires(!std::is_same_v<Same, It2>) auto equal(const Policy& policy, It1 first1, It1 last1, It2 first2,
                                                Same same = {}) {
  const auto n = std::distance(first1, last1);
  return plx::equal(policy, first1, last1, first2, std::next(first2, static_cast<detail::step_of<It2>>(n)),
                    std::move(same));
}
template <execution_policy Policy, detail::sized_range Range1, detail::sized_range Range2, class Same = std::equal_to<>>
auto equal(const Policy& policy, Range1&& range1, Range2&& range2, Same same = {}) {
  return plx::equal(policy, std::begin(range1), std::end(range1), std::begin(range2), std::end(range2),
                    std::move(same));
}

}  // namespace plx
