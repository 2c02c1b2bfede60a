// reduce, transform_reduce: combine all elements into one value.
//
// The result depends on the number of elements (and on the policy's chunk_size), never on workers or schedule: it is
// bitwise reproducible, also in floating point, and the same under seq and par. Operands keep their order, so the
// operation must be associative but need not be commutative (the standard requires both). One exception: sums and
// products of arithmetic types by std::plus and std::multiplies, which commute, use several partial results for vector
// instructions.
//
// Thread safety: the operations are called from several workers concurrently. Cost: n - 1 operations, one value of the
// result type per chunk (about a thousand chunks, or one per 8192 elements). Iterators without random access are
// traversed in order by the caller. Example: algorithm/test/reduce_test.cpp.
#pragma once

#include <cstring>
#include <functional>

#include "rt/algorithm/detail/common.hpp"

namespace plx {
namespace detail {

// The reduction behind reduce, transform_reduce, count, min_element and the reductions of for_loop.
//
// The elements are divided into chunks (chunking), each chunk is reduced, and the values of the chunks are combined in
// a fixed tree: block [k * 2^l, (k+1) * 2^l) of chunks is the combination of its two halves, in order. Which task
// combines a block depends on the schedule, the tree does not: so the result is bitwise reproducible.
//
// A task that processes consecutive chunks combines a block as soon as it has both halves; blocks that span several
// tasks are combined at the end by the caller. Operands keep their order: the operation must be associative but need
// not be commutative. leaf and combine are called from several workers concurrently. Cost: one value per chunk.

/// The values of chunks. levels_[c]: 0 if there is no value at c, else 1 + log2 of the number of chunks it covers.
/// Invariant: a value at c covers the chunks [c, c + 2^level) (clipped at the end), and there is no value at the
/// others.
template <class T>
class chunk_values {
 public:
  explicit chunk_values(std::int64_t count) : count_(count), bytes_(static_cast<std::size_t>(count) * (sizeof(T) + 1)) {
    if (bytes_ > sizeof here_) {
      try {
        memory_ = ::operator new(bytes_, std::align_val_t(alignof(T)));
      } catch (...) {
        throw no_temporary_memory();
      }
    }
    values_ = static_cast<T*>(memory_);
    levels_ = static_cast<unsigned char*>(memory_) + static_cast<std::size_t>(count) * sizeof(T);
    std::memset(levels_, 0, static_cast<std::size_t>(count));
  }
  chunk_values(const chunk_values&) = delete;
  chunk_values& operator=(const chunk_values&) = delete;
  ~chunk_values() {
    if constexpr (!std::is_trivially_destructible_v<T>)
      for (std::int64_t c = 0; c < count_; ++c)
        if (levels_[c] != 0) values_[c].~T();
    if (memory_ != here_) ::operator delete(memory_, std::align_val_t(alignof(T)));
  }

  template <class Leaf>
  void make(std::int64_t c, Leaf&& leaf) {
    ::new (static_cast<void*>(values_ + c)) T(leaf());
    levels_[c] = 1;
  }
  /// Combines the blocks that end with chunk c and start at `run` or later.
  template <class Combine>
  void combine_up_to(std::int64_t c, std::int64_t run, Combine& combine) {
    const std::int64_t end = c + 1;
    for (std::int64_t half = 1; (end & (2 * half - 1)) == 0 && end - 2 * half >= run; half *= 2)
      combine_pair(end - 2 * half, end - half, combine);
  }
  /// The value of all chunks. Requires: there is at least one chunk, and all have values.
  template <class Combine>
  T take(Combine& combine) {
    std::int64_t size = 1;
    while (size < count_) size *= 2;
    gather(0, size, combine);
    return std::move(values_[0]);
  }

 private:
  template <class Combine>
  void combine_pair(std::int64_t left, std::int64_t right, Combine& combine) {
    T both = combine(std::move(values_[left]), std::move(values_[right]));
    if constexpr (std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T>) {
      values_[left] = both;
      levels_[right] = 0;
    } else {
      values_[right].~T();
      levels_[right] = 0;
      const unsigned char level = std::exchange(levels_[left], static_cast<unsigned char>(0));
      values_[left].~T();
      ::new (static_cast<void*>(values_ + left)) T(std::move(both));
      levels_[left] = level;
    }
    ++levels_[left];
  }
  // Combines [first, first + size) into one value, unless it is one already.
  template <class Combine>
  void gather(std::int64_t first, std::int64_t size, Combine& combine) {
    if (size == 1 || (std::int64_t{1} << (levels_[first] - 1)) >= size) return;
    const std::int64_t middle = first + size / 2;
    gather(first, size / 2, combine);
    if (middle >= count_) {
      ++levels_[first];  // clipped: the left half is the block
      return;
    }
    gather(middle, size / 2, combine);
    combine_pair(first, middle, combine);
  }

  std::int64_t count_;
  std::size_t bytes_;
  alignas(T) alignas(std::max_align_t) std::byte here_[256];
  void* memory_ = here_;
  T* values_;
  unsigned char* levels_;
};

/// leaf(begin, end) for each chunk, combined by combine(T&&, T&&) -> T. Requires: chunks.count > 0.
template <class T, class Leaf, class Combine>
T reduce_chunks(const spread& how, const chunking& chunks, Leaf&& leaf, Combine&& combine) {
  if (chunks.count == 1) return leaf(0, chunks.n);
  chunk_values<T> values(chunks.count);
  in_pieces(over_chunks(how), chunks.count, [&](std::int64_t begin, std::int64_t end, std::int64_t run) {
    for (std::int64_t c = begin; c < end; ++c) {
      values.make(c, [&] { return leaf(chunks.begin(c), chunks.end(c)); });
      if ((c & 1) != 0) values.combine_up_to(c, run, combine);
    }
  });
  return values.take(combine);
}

// Reduces one chunk to one value, in the caller, by n - 1 operations. Sums and products of arithmetic types use 16
// partial results, which the compiler vectorizes; their grouping depends on n alone.

template <class Op, class T>
inline constexpr bool is_plus = std::is_same_v<Op, std::plus<>> || std::is_same_v<Op, std::plus<T>>;
template <class Op, class T>
inline constexpr bool is_times = std::is_same_v<Op, std::multiplies<>> || std::is_same_v<Op, std::multiplies<T>>;
template <class Op, class T>
inline constexpr bool commutes =
    std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && (is_plus<Op, T> || is_times<Op, T>);

/// get(begin), ..., get(end - 1) combined by op. Requires: begin < end.
template <class T, class Get, class Op>
T fold(std::int64_t begin, std::int64_t end, Get& get, Op& op) {
  if constexpr (commutes<Op, T> && std::is_convertible_v<decltype(get(begin)), T>) {
    constexpr std::int64_t lanes = 16;
    if (end - begin >= 2 * lanes) {
      T part[lanes];
      for (std::int64_t j = 0; j < lanes; ++j) part[j] = static_cast<T>(get(begin + j));
      std::int64_t i = begin + lanes;
      for (; i + lanes <= end; i += lanes)
        for (std::int64_t j = 0; j < lanes; ++j) part[j] = static_cast<T>(op(part[j], static_cast<T>(get(i + j))));
      for (std::int64_t j = 0; i + j < end; ++j) part[j] = static_cast<T>(op(part[j], static_cast<T>(get(i + j))));
      for (std::int64_t width = lanes / 2; width > 0; width /= 2)
        for (std::int64_t j = 0; j < width; ++j) part[j] = static_cast<T>(op(part[j], part[j + width]));
      return part[0];
    }
  }
  T result = static_cast<T>(get(begin));
  for (std::int64_t i = begin + 1; i < end; ++i) result = static_cast<T>(op(std::move(result), get(i)));
  return result;
}

/// The minimum chunk size: for elements that are cheap to combine, smaller chunks cost more to manage than to compute.
template <class T, class Op>
inline constexpr std::int64_t least_chunk = commutes<Op, T> ? 1024 : 1;

template <class T, class Get, class Op>
T reduce_indices(const spread& how, std::int64_t n, T init, Get& get, Op& op, std::int64_t least) {
  if (n <= 0) return init;
  const chunking chunks(how, n, least);
  const auto combine = [&op](T&& a, T&& b) { return static_cast<T>(op(std::move(a), std::move(b))); };
  T all = reduce_chunks<T>(
      how, chunks, [&](std::int64_t begin, std::int64_t end) { return fold<T>(begin, end, get, op); }, combine);
  return static_cast<T>(op(std::move(init), std::move(all)));
}

/// Least: the minimum chunk size.
template <std::int64_t Least, class Policy, class It, class T, class Op, class Transform>
auto reduce_each(const Policy& policy, It first, It last, T init, Op op, Transform transform) {
  return perform(policy,
                 [=, init = std::move(init), op = std::move(op),
                  transform = std::move(transform)](const spread& how) mutable -> T {
                   if constexpr (std::random_access_iterator<It>) {
                     const auto get = [&](std::int64_t i) -> decltype(auto) { return transform(*at(first, i)); };
                     return reduce_indices<T>(how, std::distance(first, last), std::move(init), get, op, Least);
                   } else {
                     for (; first != last; ++first) init = op(std::move(init), transform(*first));
                     return std::move(init);
                   }
                 });
}

}  // namespace detail

/// init + (transform(x[0]) + transform(x[1]) + ...), with `op` for +.
template <execution_policy Policy, detail::forward_it It, class T, class Op, class Transform>
auto transform_reduce(const Policy& policy, It first, It last, T init, Op op, Transform transform) {
  return detail::reduce_each<1>(policy, first, last, std::move(init), std::move(op), std::move(transform));
}
template <execution_policy Policy, detail::sized_range Range, class T, class Op, class Transform>
auto transform_reduce(const Policy& policy, Range&& range, T init, Op op, Transform transform) {
  return plx::transform_reduce(policy, std::begin(range), std::end(range), std::move(init), std::move(op),
                               std::move(transform));
}

/// init + (x[0] * y[0] + x[1] * y[1] + ...), with `op` for + and `product` for *.
template <execution_policy Policy, detail::forward_it It1, detail::forward_it It2, class T, class Op, class Product>
auto transform_reduce(const Policy& policy, It1 first1, It1 last1, It2 first2, T init, Op op, Product product) {
  return detail::perform(policy,
                         [=, init = std::move(init), op = std::move(op),
                          product = std::move(product)](const detail::spread& how) mutable -> T {
                           const auto n = static_cast<std::int64_t>(std::distance(first1, last1));
                           if constexpr (std::random_access_iterator<It1> && std::random_access_iterator<It2>) {
                             const auto get = [&](std::int64_t i) -> decltype(auto) {
                               return product(*detail::at(first1, i), *detail::at(first2, i));
                             };
                             constexpr bool plain =
                                 detail::commutes<Op, T> && detail::commutes<Product, detail::value_of<It1>>;
                             return detail::reduce_indices<T>(how, n, std::move(init), get, op, plain ? 1024 : 1);
                           } else {
                             for (; first1 != last1; ++first1, ++first2)
                               init = op(std::move(init), product(*first1, *first2));
                             return std::move(init);
                           }
                         });
}
template <execution_policy Policy, detail::forward_it It1, detail::forward_it It2, class T>
auto transform_reduce(const Policy& policy, It1 first1, It1 last1, It2 first2, T init) {
  return plx::transform_reduce(policy, first1, last1, first2, std::move(init), std::plus<>(), std::multiplies<>());
}
/// Over the length of the first range; the second one must be at least as long.
template <execution_policy Policy, detail::sized_range Range1, detail::sized_range Range2, class T>
auto transform_reduce(const Policy& policy, Range1&& range1, Range2&& range2, T init) {
  return plx::transform_reduce(policy, std::begin(range1), std::end(range1), std::begin(range2), std::move(init));
}
template <execution_policy Policy, detail::sized_range Range1, detail::sized_range Range2, class T, class Op,
          class Product>
auto transform_reduce(const Policy& policy, Range1&& range1, Range2&& range2, T init, Op op, Product product) {
  return plx::transform_reduce(policy, std::begin(range1), std::end(range1), std::begin(range2), std::move(init),
                               std::move(op), std::move(product));
}

/// init + (x[0] + x[1] + ...), with `op` for +.
template <execution_policy Policy, detail::forward_it It, class T, class Op = std::plus<>>
auto reduce(const Policy& policy, It first, It last, T init, Op op = {}) {
  return detail::reduce_each<detail::least_chunk<T, Op>>(policy, first, last, std::move(init), std::move(op),
                                                         std::identity());
}
template <execution_policy Policy, detail::forward_it It>
auto reduce(const Policy& policy, It first, It last) {
  return plx::reduce(policy, first, last, detail::value_of<It>{});
}
template <execution_policy Policy, detail::sized_range Range, class T, class Op = std::plus<>>
auto reduce(const Policy& policy, Range&& range, T init, Op op = {}) {
  return plx::reduce(policy, std::begin(range), std::end(range), std::move(init), std::move(op));
}
template <execution_policy Policy, detail::sized_range Range>
auto reduce(const Policy& policy, Range&& range) {
  return plx::reduce(policy, std::begin(range), std::end(range));
}

}  // namespace plx
