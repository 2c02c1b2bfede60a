// latch, barrier and counting_semaphore, as in the standard, for tasks and external threads.
//
// Thread safety: everything may be called concurrently. Cost: a short spinlock; a task that must wait suspends.
// Example: sync_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"
#include "rt/sync/wait.hpp"

namespace plx {

class latch {
 public:
  /// Requires: expected >= 0.
  constexpr explicit latch(std::ptrdiff_t expected) : missing_(expected) { PLX_ASSERT(expected >= 0, expected); }
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  static constexpr std::ptrdiff_t max() noexcept { return std::numeric_limits<std::ptrdiff_t>::max(); }
  /// Requires: n is at most the remaining count.
  void count_down(std::ptrdiff_t n = 1);
  [[nodiscard]] bool try_wait() const noexcept {
    if (missing_.load(std::memory_order_acquire) != 0) return false;
    detail::spin_guard last_one_is_done(guard_);  // the caller may destroy the latch now
    return true;
  }
  void wait() const;
  void arrive_and_wait(std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }

 private:
  std::atomic<std::ptrdiff_t> missing_;
  mutable detail::spinlock guard_;
  mutable detail::wait_list waiters_;
};

/// As std::counting_semaphore.
template <std::ptrdiff_t LeastMaxValue = std::numeric_limits<std::ptrdiff_t>::max()>
class counting_semaphore;

namespace detail {

class semaphore_base {
 public:
  constexpr semaphore_base(std::ptrdiff_t n, std::ptrdiff_t most) noexcept : free_(n), most_(most) {}
  semaphore_base(const semaphore_base&) = delete;
  semaphore_base& operator=(const semaphore_base&) = delete;

  /// Requires: n >= 0, and the count is at most max() afterwards.
  void release(std::ptrdiff_t n = 1);
  void acquire();
  bool try_acquire() noexcept;
  template <class Duration>
  bool try_acquire_for(const Duration& d) {
    return acquire_until(time_limit::after(d));
  }
  template <class TimePoint>
  bool try_acquire_until(const TimePoint& t) {
    return acquire_until(time_limit::at(t));
  }

 private:
  bool acquire_until(time_limit limit) {
    return wait_within(limit, [this](ticks deadline) { return acquire_until(deadline); });
  }
  bool acquire_until(ticks deadline);
  spinlock guard_;
  std::ptrdiff_t free_;
  const std::ptrdiff_t most_;
  wait_list waiters_;
};

}  // namespace detail

/// As std::counting_semaphore.
template <std::ptrdiff_t LeastMaxValue>
class counting_semaphore : public detail::semaphore_base {
  static_assert(LeastMaxValue >= 0, "the maximum of a counting_semaphore must not be negative");

 public:
  /// Requires: 0 <= n <= max().
  constexpr explicit counting_semaphore(std::ptrdiff_t n) : detail::semaphore_base(n, LeastMaxValue) {
    PLX_ASSERT(n >= 0 && n <= LeastMaxValue, n);
  }
  static constexpr std::ptrdiff_t max() noexcept { return LeastMaxValue; }
};

using binary_semaphore = counting_semaphore<1>;

namespace detail {

struct no_completion {
  void operator()() const noexcept {}
};

class barrier_base {
 public:
  constexpr explicit barrier_base(std::ptrdiff_t expected) : expected_(expected), missing_(expected) {
    PLX_ASSERT(expected >= 0, expected);
  }

 protected:
  using complete_function = void (*)(barrier_base&);
  /// Returns the phase of the arrival; the last arrival runs `complete` and starts the next phase.
  std::size_t arrive(std::ptrdiff_t n, bool drop, complete_function complete);
  void wait(std::size_t phase) const;

 private:
  mutable spinlock guard_;
  std::ptrdiff_t expected_;
  std::ptrdiff_t missing_;
  std::size_t phase_ = 0;
  mutable wait_list waiters_;
};

}  // namespace detail

/// As std::barrier.
template <class Completion = detail::no_completion>
class barrier : detail::barrier_base {
  static_assert(std::is_nothrow_invocable_v<Completion&>,
                "the completion of a barrier must take no arguments and be noexcept");

 public:
  /// The phase that an arrival belongs to.
  class arrival_token {
    explicit arrival_token(std::size_t p) noexcept : phase(p) {}
    std::size_t phase;
    friend barrier;
  };

  constexpr explicit barrier(std::ptrdiff_t expected, Completion completion = Completion())
      : detail::barrier_base(expected), completion_(std::move(completion)) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  static constexpr std::ptrdiff_t max() noexcept { return std::numeric_limits<std::ptrdiff_t>::max(); }
  /// Requires: 0 < n, and n is at most the remaining count of this phase.
  [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) {
    return arrival_token(detail::barrier_base::arrive(n, false, complete));
  }
  void wait(arrival_token&& token) const { detail::barrier_base::wait(token.phase); }
  void arrive_and_wait() { wait(arrive()); }
  void arrive_and_drop() { detail::barrier_base::arrive(1, true, complete); }

 private:
  static void complete(detail::barrier_base& b) noexcept { static_cast<barrier&>(b).completion_(); }
  Completion completion_;
};

}  // namespace plx
