// A parallel loop that needs no chunk size: it splits only when somebody is there to take the other half.
//
// Thread safety: everything. Cost: one closure per split; a loop that nobody helps splits about log2(n) times. The body
// is called from several workers at once. Example: for_loop_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "rt/task_group.hpp"

namespace plx {
namespace detail {

/// True when thieves have taken all that the calling worker offered. Requires: on_a_worker().
bool own_deque_is_empty() noexcept;
bool on_a_worker() noexcept;

/// Grows the number of iterations between two looks at the deque until they take about two microseconds.
class loop_grain {
 public:
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  void begin() noexcept { begin_ = now_ticks(); }
  void end(std::int64_t done) noexcept;

 private:
  std::int64_t size_ = 1;
  ticks begin_ = 0;
};

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

/// How many steps lie between the two; integers may be as far apart as 2^63 - 1.
template <class Index>
std::int64_t distance(Index first, Index last) {
  if constexpr (std::is_integral_v<Index>)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first));
  else
    return static_cast<std::int64_t>(last - first);
}

template <class Index, class Body>
struct loop {
  Body& body;
  task_info info;
  std::atomic<bool> stop{false};

  void range(Index first, std::int64_t n, loop_grain grain) {
    task_group halves;
    while (n > 0 && !stop.load(std::memory_order_relaxed)) {
      if (n > grain.size() && own_deque_is_empty()) {
        const std::int64_t kept = n / 2;
        const Index second = advanced(first, kept);
        halves.run(info, [this, second, rest = n - kept, grain] { range(second, rest, grain); });
        n = kept;
        continue;
      }
      const std::int64_t piece = n < grain.size() ? n : grain.size();
      grain.begin();
      run_piece(first, piece);
      grain.end(piece);
      first = advanced(first, piece);
      n -= piece;
    }
    halves.wait();
  }

 private:
  void run_piece(Index first, std::int64_t n) {
    try {
      // A plain loop over Index itself: the compiler vectorizes it as if it stood in the user's code.
      const Index last = advanced(first, n);
      for (Index i = first; i < last; ++i) body(i);
    } catch (...) {
      stop.store(true, std::memory_order_relaxed);
      throw;
    }
  }
};

}  // namespace detail

/// Calls `body(i)` for each i in [first, last), in parallel and in no particular order, and returns when all is done.
/// The first exception stops the loop as soon as the workers notice and is thrown here.
template <class Index, class Body>
void for_loop(task_info info, Index first, Index last, Body&& body) {
  if (!(first < last)) return;
  detail::loop<Index, std::remove_reference_t<Body>> loop{body, info};
  const auto whole = [&loop, first, last] { loop.range(first, detail::distance(first, last), {}); };
  if (detail::on_a_worker())
    whole();
  else
    async(info, whole).get();  // a foreign thread has no deque to share: a task loops for it
}
template <class Index, class Body>
void for_loop(Index first, Index last, Body&& body) {
  for_loop(task_info{}, first, last, std::forward<Body>(body));
}

}  // namespace plx
