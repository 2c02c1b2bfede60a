// call_once and event for tasks and external threads.
//
// Thread safety: everything may be called concurrently. Cost: one acquire load once the event has been set or the call
// made. Example: mutexes_test.cpp.
#pragma once

#include <atomic>
#include <tuple>
#include <utility>

#include "rt/sync/deadline.hpp"
#include "rt/sync/wait.hpp"

namespace plx {

/// A manual-reset event: set() resumes all waiters.
class event {
 public:
  event() noexcept = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { detail::spin_guard wait_for_the_setter(guard_); }

  /// True if the event has been set, and not reset since.
  [[nodiscard]] bool occurred() const noexcept { return set_.load(std::memory_order_acquire); }
  /// Resumes all waiters; wait() returns immediately until reset().
  void set();
  /// wait() blocks again from now on.
  void reset() noexcept { set_.store(false, std::memory_order_release); }
  /// Waits until the event is set.
  void wait() {
    if (!occurred()) wait_slowly();
  }
  /// False if the time passed first.
  template <class Duration>
  bool wait_for(const Duration& d) {
    return occurred() || wait_until_set(detail::time_limit::after(d));
  }
  template <class TimePoint>
  bool wait_until(const TimePoint& t) {
    return occurred() || wait_until_set(detail::time_limit::at(t));
  }

 private:
  void wait_slowly();
  bool wait_ticks(ticks deadline);
  bool wait_until_set(detail::time_limit limit) {
    return detail::wait_within(limit, [this](ticks deadline) { return wait_ticks(deadline); });
  }
  std::atomic<bool> set_{false};
  detail::spinlock guard_;
  detail::wait_list waiters_;
};

/// As std::once_flag: records whether call_once() has made its call.
class once_flag {
 public:
  once_flag() noexcept = default;
  once_flag(const once_flag&) = delete;
  once_flag& operator=(const once_flag&) = delete;

 private:
  [[nodiscard]] bool done() const noexcept { return state_.load(std::memory_order_acquire) == 2; }
  bool begin();                  // true: the caller makes the call; false: it has been made
  void end(bool done) noexcept;  // not done: one of the waiters may try

  static std::uintptr_t holder_of(const void* flag) noexcept;

  std::atomic<int> state_{0};  // 0 not called, 1 call in progress, 2 done
  detail::spinlock guard_;
  detail::wait_list waiters_;
  std::atomic<std::uintptr_t> holder_{0};  // the caller in progress, for explain_waits()
  template <class F, class... A>
  friend void call_once(once_flag&, F&&, A&&...);
};

/// Calls `f(args...)` unless a call with this flag has already returned. If the call throws, the next caller tries.
template <class F, class... A>
void call_once(once_flag& flag, F&& f, A&&... args) {
  if (flag.done() || !flag.begin()) return;
  struct ending {
    once_flag& flag;
    bool done = false;
    ~ending() { flag.end(done); }
  } ending{flag};
  std::apply(std::forward<F>(f), std::forward_as_tuple(std::forward<A>(args)...));  // calls members too
  ending.done = true;
}

}  // namespace plx
