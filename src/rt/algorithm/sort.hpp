// sort, stable_sort: parallel sorts with the same result on every schedule.
//
// Thread safety: comparisons are called from several workers concurrently. Cost: sort: in place, O(n log n) comparisons
// in the worst case, n - 1 if the elements are already in order; stable_sort: memory for n elements, O(n log n) moves;
// types whose move constructor may throw are sorted by one worker. The order of equal elements after sort() is not
// their original one, but does not depend on the number of workers or schedule. Example: algorithm/test/sort_test.cpp
#pragma once

#include <bit>
#include <functional>

#include "rt/algorithm/detail/common.hpp"
#include "rt/algorithm/merge.hpp"
#include "rt/algorithm/partition.hpp"

namespace plx {
namespace detail {

// Quicksort in which all workers partition large ranges together, and a merge sort with parallel merges. Which steps
// are parallel depends on n only, so the order of equal elements is the same on every schedule. Sources: Bentley,
// McIlroy, "Engineering a Sort Function" (1993), for pivots; Musser, "Introspective Sorting" (1997), for the worst
// case.

inline constexpr std::int64_t insertion_size = 24;      // up to this size, sorted by insertion
inline constexpr std::int64_t alone_size = 1 << 12;     // up to this size, sorted without further tasks
inline constexpr std::int64_t together_size = 1 << 18;  // from this size on, partitioned by all workers

template <class It, class Less>
void sort_by_insertion(It first, std::int64_t n, Less& less) {
  for (std::int64_t i = 1; i < n; ++i) {
    value_of<It> x = *at(first, i);
    std::int64_t to = i;
    for (; to > 0 && less(x, *at(first, to - 1)); --to) *at(first, to) = *at(first, to - 1);
    *at(first, to) = x;
  }
}

template <class It, class Less>
class quicksort {
 public:
  quicksort(const spread& how, Less& less) noexcept : how_(over_chunks(how)), less_(less) {}

  /// `bad`: the number of further unbalanced partitions before the fallback.
  void go(It first, std::int64_t n, int bad) {
    task_group others;
    while (n > alone_size) {
      if (bad == 0) {
        std::sort(first, at(first, n), std::ref(less_));
        n = 0;
        break;
      }
      const parts p = split(first, n);
      if (is_bad(p, n)) --bad;
      const It right = at(first, n - p.right);
      if (!how_.parallel)
        go(right, p.right, bad);
      else if (p.right > 1)
        others.run(how_.info, [this, right, p, bad] { go(right, p.right, bad); });
      n = p.left;
    }
    alone(first, n, bad);
    others.wait();
  }

 private:
  using T = value_of<It>;
  struct parts {
    std::int64_t left, right;  // sizes; the elements between are in place
  };

  static bool is_bad(parts p, std::int64_t n) noexcept { return p.left < n / 8 && p.right > n / 2; }

  void alone(It first, std::int64_t n, int bad) {
    if constexpr (!cheap_to_copy<T>) {
      std::sort(first, at(first, n), std::ref(less_));
    } else {
      while (n > insertion_size) {
        if (bad == 0) return std::sort(first, at(first, n), std::ref(less_));
        const parts p = split(first, n);
        if (is_bad(p, n) || p.right < n / 8) --bad;
        alone(at(first, n - p.right), p.right, bad);
        n = p.left;
      }
      sort_by_insertion(first, n, less_);
    }
  }

  // Moves the median of some equally spaced elements to the front.
  void choose_pivot(It first, std::int64_t n) {
    const std::int64_t samples = n >= (1 << 16) ? 63 : n >= 128 ? 9 : 3;
    for (std::int64_t i = 0; i < samples; ++i) std::iter_swap(at(first, i), at(first, i + (n - samples) / samples * i));
    std::sort(first, at(first, samples), std::ref(less_));
    std::iter_swap(first, at(first, samples / 2));
  }

  // Divides the elements into smaller ones, the pivot (and its equals, if there are few smaller ones), and the rest.
  parts split(It first, std::int64_t n) {
    choose_pivot(first, n);
    std::int64_t left = 0;
    with_pivot(first, [&](const T& pivot) {
      const auto smaller = [this, &pivot](const T& x) { return static_cast<bool>(less_(x, pivot)); };
      left = divide(at(first, 1), n - 1, smaller);
    });
    std::iter_swap(first, at(first, left));
    const It middle = at(first, left);
    std::int64_t right = n - left - 1;
    if (left < n / 8 && right > 0)
      with_pivot(middle, [&](const T& pivot) {
        const auto not_larger = [this, &pivot](const T& x) { return !static_cast<bool>(less_(pivot, x)); };
        right -= divide(at(middle, 1), right, not_larger);
      });
    return {left, right};
  }
  template <class F>
  void with_pivot(It it, F f) {
    if constexpr (cheap_to_copy<T>) {
      const T pivot = *it;  // a copy can stay in a register
      f(pivot);
    } else {
      f(*it);
    }
  }
  template <class Pred>
  std::int64_t divide(It first, std::int64_t n, const Pred& pred) {
    return n >= together_size ? partition_chunks(how_, first, n, pred) : partition_alone(first, n, pred);
  }

  const spread how_;
  Less& less_;
};

/// True if the range is already sorted.
template <class It, class Less>
bool is_sorted_already(const spread& how, It first, std::int64_t n, Less& less) {
  return !any_index(over_chunks(how), n - 1, [&](std::int64_t i) { return less(*at(first, i + 1), *at(first, i)); });
}

template <class It, class Less>
void sort_range(const spread& how, It first, std::int64_t n, Less& less) {
  if (n < 2 || is_sorted_already(how, first, n, less)) return;
  quicksort<It, Less> sorter(how, less);
  const int bad = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n)));
  if (!how.parallel || on_a_worker())
    sorter.go(first, n, bad);
  else
    async(how.info, [&] { sorter.go(first, n, bad); }).get();
}

template <class It, class Less>
class mergesort {
 public:
  using T = value_of<It>;
  mergesort(const spread& how, Less& less) noexcept : how_(over_chunks(how)), less_(less) {}

  /// The n elements are in `buffer`; the sorted ones are in `data` if `to_data`, otherwise in `buffer`.
  void go(It data, T* buffer, std::int64_t n, bool to_data) {
    if (n <= smallest) {
      if constexpr (cheap_to_copy<T>)
        sort_by_insertion(buffer, n, less_);
      else
        std::stable_sort(buffer, buffer + n, std::ref(less_));
      if (to_data) std::move(buffer, buffer + n, data);
      return;
    }
    const std::int64_t half = n / 2;
    if (how_.parallel && n > alone_size) {
      task_group other;
      other.run(how_.info, [=, this] { go(at(data, half), buffer + half, n - half, !to_data); });
      go(data, buffer, half, !to_data);
      other.wait();
    } else {
      go(data, buffer, half, !to_data);
      go(at(data, half), buffer + half, n - half, !to_data);
    }
    if (to_data)
      join(buffer, half, n, data);
    else
      join(data, half, n, buffer);
  }

 private:
  static constexpr std::int64_t smallest = cheap_to_copy<T> ? insertion_size : alone_size;

  template <class From, class To>
  void join(From from, std::int64_t half, std::int64_t n, To to) {
    if (n > 4 * alone_size)
      merge_pieces<true>(how_, from, half, at(from, half), n - half, to, less_);
    else
      merge_some<true>(from, half, at(from, half), n - half, n, to, less_);
  }

  const spread how_;
  Less& less_;
};

template <class It, class Less>
void stable_sort_range(const spread& how, It first, std::int64_t n, Less& less) {
  using T = value_of<It>;
  if (n < 2 || is_sorted_already(how, first, n, less)) return;
  if constexpr (!std::is_nothrow_move_constructible_v<T>) {
    std::stable_sort(first, at(first, n),
                     std::ref(less));  // several workers could not restore the elements after an exception
  } else {
    if (n <= alone_size) return std::stable_sort(first, at(first, n), std::ref(less));
    moved_to_buffer<T> buffer(how, first, n);
    mergesort<It, Less> sorter(how, less);
    if (!how.parallel || on_a_worker())
      sorter.go(first, buffer.memory.data(), n, true);
    else
      async(how.info, [&] { sorter.go(first, buffer.memory.data(), n, true); }).get();
  }
}

}  // namespace detail

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
