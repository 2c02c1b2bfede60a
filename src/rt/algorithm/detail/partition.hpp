// Parallel partition in place: each chunk is partitioned independently, then the elements on the wrong side of the
// common boundary are exchanged.
//
// After the first pass a chunk is [true ... false ...]. With K true elements in total, there are as many false ones
// below K as true ones from K on: the i-th of the former is exchanged with the i-th of the latter. The chunks depend on
// n alone, so the resulting order does, too.
//
// Thread safety: the predicate is called from several workers concurrently. Cost: n calls of the predicate, at most n /
// 2 exchanges in addition to those within chunks; three words per chunk. Example: algorithm/sort_test.cpp.
#pragma once

#include <algorithm>

#include "rt/algorithm/detail/common.hpp"

namespace plx::detail {

/// Cheap enough to be exchanged unconditionally, which saves an unpredictable branch.
template <class T>
inline constexpr bool cheap_to_copy = std::is_trivially_copyable_v<T>&& std::is_default_constructible_v<T> &&
                                      sizeof(T) <= 16;

/// Partitions n elements in the caller; returns the number of true ones.
template <class It, class Pred>
std::int64_t partition_alone(It first, std::int64_t n, Pred& pred) {
  using T = value_of<It>;
  if constexpr (cheap_to_copy<T>) {
    // Invariant: [first, middle) is true, [middle, here) is false.
    It middle = first;
    for (It here = first, last = at(first, n); here != last; ++here) {
      const T x = *here;
      *here = *middle;
      *middle = x;
      middle += static_cast<step_of<It>>(static_cast<bool>(pred(x)));
    }
    return middle - first;
  } else {
    return std::partition(first, at(first, n), [&pred](auto& x) { return static_cast<bool>(pred(x)); }) - first;
  }
}

/// Consecutive positions of misplaced elements; `before` is the number of those in earlier stretches.
struct stretch {
  std::int64_t begin, before;
};

/// The position of the i-th misplaced element, and the number of elements from there to the end of its stretch.
struct misplaced {
  std::vector<stretch> list;
  std::int64_t total = 0;

  void add(std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    list.push_back({begin, total});
    total += end - begin;
  }
  [[nodiscard]] std::size_t find(std::int64_t i) const {
    const auto behind =
        std::upper_bound(list.begin(), list.end(), i, [](std::int64_t k, const stretch& s) { return k < s.before; });
    return static_cast<std::size_t>(behind - list.begin()) - 1;
  }
  [[nodiscard]] std::int64_t end_of(std::size_t s) const { return s + 1 < list.size() ? list[s + 1].before : total; }
};

/// Partitions n elements, together with other workers; returns the number of true ones.
template <class It, class Pred>
std::int64_t partition_chunks(const spread& how, It first, std::int64_t n, Pred& pred) {
  const chunking chunks(over_chunks(how), n, 4096, 16384);
  if (chunks.count == 1) return partition_alone(first, n, pred);
  misplaced high, low;  // false ones before the boundary, true ones after it
  try {
    std::vector<std::int64_t> trues(static_cast<std::size_t>(chunks.count));
    high.list.reserve(trues.size());
    low.list.reserve(trues.size());
    in_pieces(over_chunks(how), chunks.count, [&](std::int64_t c, std::int64_t end) {
      for (; c < end; ++c)
        trues[static_cast<std::size_t>(c)] =
            partition_alone(at(first, chunks.begin(c)), chunks.end(c) - chunks.begin(c), pred);
    });
    std::int64_t boundary = 0;
    for (std::int64_t t : trues) boundary += t;
    for (std::int64_t c = 0; c < chunks.count; ++c) {
      const std::int64_t middle = chunks.begin(c) + trues[static_cast<std::size_t>(c)];
      high.add(middle, std::min(chunks.end(c), boundary));
      low.add(std::max(chunks.begin(c), boundary), middle);
    }
    in_pieces(over_chunks(how), high.total, [&](std::int64_t i, std::int64_t end) {
      std::size_t h = high.find(i), l = low.find(i);
      while (i < end) {
        const std::int64_t stop = std::min({end, high.end_of(h), low.end_of(l)});
        const It a = at(first, high.list[h].begin + (i - high.list[h].before));
        std::swap_ranges(a, at(a, stop - i), at(first, low.list[l].begin + (i - low.list[l].before)));
        i = stop;
        if (i == high.end_of(h)) ++h;
        if (i == low.end_of(l)) ++l;
      }
    });
    return boundary;
  } catch (const std::length_error&) {
    throw no_temporary_memory();
  }
}

}  // namespace plx::detail
