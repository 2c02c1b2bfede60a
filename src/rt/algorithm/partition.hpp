// copy_if, remove_copy_if, partition, stable_partition: separate the elements that satisfy a predicate from the others.
//
// Thread safety: predicates are called from several workers concurrently. Cost: n calls of the predicate. copy_if: one
// read of the input; a byte per element if several workers take part. partition: in place.
// stable_partition: memory for n elements. Iterators without random access are traversed in order by the caller.
// Example: algorithm/test/scan_test.cpp.
#pragma once

#include <algorithm>
#include <functional>

#include "rt/algorithm/detail/common.hpp"
#include "rt/algorithm/scan.hpp"

namespace plx {
namespace detail {

// Parallel partition in place: each chunk is partitioned independently, then the elements on the wrong side of the
// common boundary are exchanged.
//
// After the first pass a chunk is [true ... false ...]. With K true elements in total, there are as many false ones
// below K as true ones from K on: the i-th of the former is exchanged with the i-th of the latter. The chunks depend on
// n alone, so the resulting order does, too. Cost: n calls of the predicate, at most n / 2 exchanges in addition to
// those within chunks; three words per chunk.

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

/// The sum of a chunk is the number of its copied elements; the prefix is their position in the output.
template <class In, class Out, class Pred>
struct copy_if_steps {
  using sum_type = std::int64_t;
  using prefix_type = std::int64_t;
  static constexpr bool exact = true;

  In first;
  Out out;
  Pred& pred;
  chunking chunks;
  unsigned char* marks;

  std::int64_t sum(std::int64_t c) {
    std::int64_t count = 0;
    for (std::int64_t i = chunks.begin(c); i < chunks.end(c); ++i) {
      marks[i] = static_cast<bool>(pred(*at(first, i)));
      count += marks[i];
    }
    return count;
  }
  std::int64_t join(std::int64_t prefix, std::int64_t s) const noexcept { return prefix + s; }
  void emit(std::int64_t c, std::int64_t prefix) {
    Out to = at(out, prefix);
    for (std::int64_t i = chunks.begin(c); i < chunks.end(c); ++i)
      if (marks[i] != 0) {
        *to = *at(first, i);
        ++to;
      }
  }
  std::int64_t both(std::int64_t c, std::int64_t prefix) {
    Out to = at(out, prefix);
    for (std::int64_t i = chunks.begin(c); i < chunks.end(c); ++i)
      if (pred(*at(first, i))) {
        *to = *at(first, i);
        ++to;
      }
    return to - out;
  }
};

template <class In, class Out, class Pred>
Out copy_some(const spread& how, In first, In last, Out out, Pred& pred) {
  if constexpr (std::random_access_iterator<In> && shareable_it<Out>) {
    const std::int64_t n = last - first;
    if (n <= 0) return out;
    const chunking chunks(how, n, 8);
    const temporary<unsigned char> marks(n);  // touched only if other workers join
    using steps_type = copy_if_steps<In, Out, Pred>;
    steps_type steps{first, out, pred, chunks, marks.data()};
    return at(out, prefix_walk<steps_type>(steps, chunks.count, 0).go(over_chunks(how)));
  } else {
    return std::copy_if(first, last, out, std::ref(pred));
  }
}

/// Moves the elements into a buffer, and from there to their final places.
template <class It, class Pred>
std::int64_t partition_stably(const spread& how, It first, std::int64_t n, Pred& pred) {
  const chunking chunks(how, n);
  const temporary<unsigned char> marks(n);
  const temporary<std::int64_t> trues(chunks.count);  // per chunk; later, in all chunks before it
  in_pieces(over_chunks(how), chunks.count, [&](std::int64_t c, std::int64_t c_end) {
    for (; c < c_end; ++c) {
      trues[c] = 0;
      for (std::int64_t i = chunks.begin(c); i < chunks.end(c); ++i) {
        marks[i] = static_cast<bool>(pred(std::as_const(*at(first, i))));
        trues[c] += marks[i];
      }
    }
  });
  std::int64_t boundary = 0;
  for (std::int64_t c = 0; c < chunks.count; ++c) boundary += std::exchange(trues[c], boundary);
  moved_to_buffer<value_of<It>> buffer(how, first, n);
  in_pieces(over_chunks(how), chunks.count, [&](std::int64_t c, std::int64_t c_end) {
    for (; c < c_end; ++c) {
      It yes = at(first, trues[c]), no = at(first, boundary + chunks.begin(c) - trues[c]);
      for (std::int64_t i = chunks.begin(c); i < chunks.end(c); ++i) {
        It& to = marks[i] != 0 ? yes : no;
        *to = std::move(buffer.memory[i]);
        ++to;
      }
    }
  });
  return boundary;
}

}  // namespace detail

/// Copies the elements that satisfy the predicate, in order. Returns the end of the output, which must not overlap the
/// input.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Pred>
auto copy_if(const Policy& policy, In first, In last, Out out, Pred pred) {
  return detail::perform(
      policy, [=](const detail::spread& how) mutable { return detail::copy_some(how, first, last, out, pred); });
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out, class Pred>
auto copy_if(const Policy& policy, Range&& range, Out out, Pred pred) {
  return plx::copy_if(policy, std::begin(range), std::end(range), out, std::move(pred));
}
/// Copies the elements that do not satisfy the predicate, in order.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Pred>
auto remove_copy_if(const Policy& policy, In first, In last, Out out, Pred pred) {
  return plx::copy_if(policy, first, last, out, [pred = std::move(pred)](auto&& x) mutable { return !pred(x); });
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out, class Pred>
auto remove_copy_if(const Policy& policy, Range&& range, Out out, Pred pred) {
  return plx::remove_copy_if(policy, std::begin(range), std::end(range), out, std::move(pred));
}

/// Moves the elements that satisfy the predicate before the others and returns the first of the others. The resulting
/// order depends on the elements alone, not on the schedule.
template <execution_policy Policy, detail::forward_it It, class Pred>
auto partition(const Policy& policy, It first, It last, Pred pred) {
  return detail::perform(policy, [=](const detail::spread& how) mutable -> It {
    if constexpr (detail::shareable_it<It>)
      return detail::at(first, detail::partition_chunks(how, first, last - first, pred));
    else
      return std::partition(first, last, std::ref(pred));
  });
}
template <execution_policy Policy, detail::sized_range Range, class Pred>
auto partition(const Policy& policy, Range&& range, Pred pred) {
  return plx::partition(policy, std::begin(range), std::end(range), std::move(pred));
}

/// As partition, but both groups keep their order. Types whose move may throw are processed by one worker.
template <execution_policy Policy, std::bidirectional_iterator It, class Pred>
auto stable_partition(const Policy& policy, It first, It last, Pred pred) {
  return detail::perform(policy, [=](const detail::spread& how) mutable -> It {
    if constexpr (detail::shareable_it<It> && std::is_nothrow_move_constructible_v<detail::value_of<It>>)
      return first == last ? last : detail::at(first, detail::partition_stably(how, first, last - first, pred));
    else
      return std::stable_partition(first, last, std::ref(pred));
  });
}
template <execution_policy Policy, detail::sized_range Range, class Pred>
auto stable_partition(const Policy& policy, Range&& range, Pred pred) {
  return plx::stable_partition(policy, std::begin(range), std::end(range), std::move(pred));
}

}  // namespace plx
