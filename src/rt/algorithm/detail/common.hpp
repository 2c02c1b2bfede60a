// Common parts of the algorithms: which iterators they accept, loops over chunks, temporary memory.
//
// Thread safety and cost: see the algorithms. Example: the other headers of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "rt/algorithm/policy.hpp"

/// The iterations of the following loop are independent: the caller of an unsequenced policy guarantees it.
#if defined(__clang__)
#define PLX_UNSEQUENCED _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define PLX_UNSEQUENCED _Pragma("GCC ivdep")
#else
#define PLX_UNSEQUENCED
#endif

namespace plx::detail {

template <class It>
concept forward_it = std::forward_iterator<It>;
template <class It>
concept output_it = std::input_or_output_iterator<It>;

template <class Range>
using range_it = decltype(std::begin(std::declval<Range&>()));
/// A type with begin() and end() of the same random-access type.
template <class Range>
concept sized_range = requires(Range& r) {
  std::begin(r);
  std::end(r);
}
&&std::is_same_v<range_it<Range>, decltype(std::end(std::declval<Range&>()))>&& std::forward_iterator<range_it<Range>>;

/// Several workers may access different elements through `It`. False for the bits of a vector<bool>, several of which
/// share a word: algorithms that write to them do so in order.
template <class It>
concept shareable_it = std::random_access_iterator<It> &&
    (!std::is_same_v<std::decay_t<decltype(*std::declval<It&>())>, std::vector<bool>::reference>);

template <class... It>
inline constexpr bool all_shareable = (shareable_it<It> && ...);

template <class It>
using value_of = std::iter_value_t<It>;

template <class It>
using step_of = std::iter_difference_t<It>;

template <class It>
It at(It first, std::int64_t i) {
  return first + static_cast<step_of<It>>(i);
}

/// f(i) for each i in [begin, end).
template <bool Unsequenced, class F>
void each_index(std::int64_t begin, std::int64_t end, F&& f) {
  if constexpr (Unsequenced) {
    PLX_UNSEQUENCED
    for (std::int64_t i = begin; i < end; ++i) f(i);
  } else {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  }
}

/// Raw memory for `n` objects, freed in the destructor; the code that constructs objects there destroys them.
template <class T>
class temporary {
 public:
  explicit temporary(std::int64_t n) : n_(static_cast<std::size_t>(n)) {
    try {
      data_ = std::allocator<T>().allocate(n_);
    } catch (...) {
      throw no_temporary_memory();
    }
  }
  temporary(const temporary&) = delete;
  temporary& operator=(const temporary&) = delete;
  ~temporary() { std::allocator<T>().deallocate(data_, n_); }
  [[nodiscard]] T* data() const noexcept { return data_; }
  T& operator[](std::int64_t i) const noexcept { return data_[i]; }

 private:
  T* data_;
  std::size_t n_;
};

/// Chunks whose boundaries depend on the number of elements alone, so that values that are computed per chunk and then
/// combined do not depend on the schedule. About a thousand, enough for any number of workers, and small enough to fit
/// into a cache.
struct chunking {
  std::int64_t n = 0, size = 1, count = 0;

  chunking(const spread& how, std::int64_t elements, std::int64_t least = 1, std::int64_t most = 8192) : n(elements) {
    size = how.chunk > 0 ? how.chunk : n / 1024;
    if (how.chunk <= 0 && size < least) size = least;
    if (how.chunk <= 0 && size > most) size = most;
    if (size < 1) size = 1;
    count = n <= 0 ? 0 : (n - 1) / size + 1;
  }
  [[nodiscard]] std::int64_t begin(std::int64_t c) const noexcept { return c * size; }
  [[nodiscard]] std::int64_t end(std::int64_t c) const noexcept { return c + 1 == count ? n : (c + 1) * size; }
};

/// The same policy without its chunk size, for loops over chunks.
inline spread over_chunks(spread how) noexcept {
  how.chunk = 0;
  return how;
}

/// Objects in raw memory that are destroyed in the destructor.
template <class T>
struct moved_to_buffer {
  temporary<T> memory;
  std::int64_t n;

  template <class It>
  moved_to_buffer(const spread& how, It first, std::int64_t count) : memory(count), n(count) {
    in_pieces(over_chunks(how), n, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) ::new (static_cast<void*>(memory.data() + i)) T(std::move(*at(first, i)));
    });
  }
  ~moved_to_buffer() {
    if constexpr (!std::is_trivially_destructible_v<T>)
      for (std::int64_t i = 0; i < n; ++i) memory[i].~T();
  }
};

// The searches of find, any_of and is_sorted: a match lowers the end of the range.

/// The smallest i in [0, n) with hit(i), or n.
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

/// True if hit(i) for some i in [0, n).
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
