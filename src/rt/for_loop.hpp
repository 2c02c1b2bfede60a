// A parallel loop that needs no chunk size: it is split into one part per worker, and a part is split again while idle
// workers can take half of it.
//
// Thread safety: everything. Cost: one closure per split; a loop that no other worker joins splits at most about
// log2(n) times (detail/partitioner.hpp). The body is called from several workers concurrently. Example:
// for_loop_test.cpp. Loops with policies, reductions and inductions: algorithm/for_loop.hpp.
#pragma once

#include <cstdint>

#include "rt/algorithm/detail/partitioner.hpp"

namespace plx {
namespace detail {

/// The index `n` steps after `first`, for integers and iterators.
template <class Index>
Index advanced(Index first, std::int64_t n) {
  if constexpr (std::is_integral_v<Index> && sizeof(Index) < sizeof n)
    return static_cast<Index>(static_cast<std::int64_t>(first) + n);
  else if constexpr (std::is_integral_v<Index>)
    return first + static_cast<Index>(n);
  else
    return first + static_cast<decltype(first - first)>(n);
}

/// The number of steps between the two; integers may be as far apart as 2^63 - 1.
template <class Index>
std::int64_t distance(Index first, Index last) {
  if constexpr (std::is_integral_v<Index>)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first));
  else
    return static_cast<std::int64_t>(last - first);
}

}  // namespace detail

/// Calls `body(i)` for each i in [first, last), in parallel and in no particular order, and returns when all calls have
/// returned. The first exception stops the loop as soon as the workers notice it, and is rethrown here.
template <class Index, class Body>
void for_loop(task_info info, Index first, Index last, Body&& body) {
  if (!(first < last)) return;
  detail::in_pieces({.info = info}, detail::distance(first, last),
                    [&body, first](std::int64_t begin, std::int64_t end) {
                      // A plain loop over Index itself: the compiler vectorizes it as it would one in the user's code.
                      const Index stop = detail::advanced(first, end);
                      for (Index i = detail::advanced(first, begin); i < stop; ++i) body(i);
                    });
}
template <class Index, class Body>
requires(!std::is_same_v<Index, task_info>) void for_loop(Index first, Index last, Body&& body) {
  for_loop(task_info{}, first, last, std::forward<Body>(body));
}

}  // namespace plx
