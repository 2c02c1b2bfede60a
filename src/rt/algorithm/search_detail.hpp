// The searches under find, any_of and is_sorted: the end of the range falls to what was found.
//
// Thread safety: hit is called from several workers at once. Cost: at most n calls. Example:
// algorithm/for_each_test.cpp.
#pragma once

#include "rt/algorithm/common_detail.hpp"

namespace plx::detail {

/// The least i in [0, n) with hit(i), or n.
template <class Hit>
std::int64_t first_index(const spread& how, std::int64_t n, Hit&& hit) {
  if (n <= 0) return 0;
  range_end end(n);
  in_pieces(how, n, end, [&](std::int64_t i, std::int64_t piece_end) {
    for (; i < piece_end; ++i)
      if (hit(i)) return end.lower_to(i);
  });
  return end.get();
}

/// Whether there is an i in [0, n) with hit(i).
template <class Hit>
bool any_index(const spread& how, std::int64_t n, Hit&& hit) {
  if (n <= 0) return false;
  range_end end(n);
  in_pieces(how, n, end, [&](std::int64_t i, std::int64_t piece_end) {
    for (; i < piece_end; ++i)
      if (hit(i)) return end.lower_to(-1);
  });
  return end.get() < 0;
}

}  // namespace plx::detail
