// mutex and condition_variable for tasks; foreign threads may use them too.
//
// Thread safety: that is their purpose. Cost: one compare-and-swap to lock a free mutex, one exchange to unlock; a task
// that must wait gives its worker away (two stack switches). Example: sync_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "rt/detail/wait.hpp"

namespace plx {

using std::adopt_lock;
using std::adopt_lock_t;
using std::defer_lock;
using std::defer_lock_t;
using std::lock;
using std::lock_guard;
using std::scoped_lock;
using std::try_lock;
using std::try_to_lock;
using std::try_to_lock_t;
using std::unique_lock;

class mutex {
 public:
  mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  /// Whoever got the lock last may destroy the mutex while the one before is still on its way out of unlock_slowly().
  ~mutex() { detail::spin_guard wait_for_it(guard_); }

  void lock() {
    std::uint32_t expected = unlocked;
    // acquire: pairs with the release in unlock().
    if (!state_.compare_exchange_strong(expected, locked, std::memory_order_acquire, std::memory_order_relaxed))
      lock_slowly();
  }
  bool try_lock() noexcept {
    std::uint32_t expected = unlocked;
    return state_.compare_exchange_strong(expected, locked, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void unlock() {
    std::uint32_t expected = locked;
    if (!state_.compare_exchange_strong(expected, unlocked, std::memory_order_release, std::memory_order_relaxed))
      unlock_slowly();
  }

 private:
  static constexpr std::uint32_t unlocked = 0, locked = 1, contended = 2;
  void lock_slowly();
  void unlock_slowly();

  // contended: somebody may be in waiters_. Invariant: while waiters_ is not empty, the state is contended or a waiter
  // that was woken is on its way to make it so.
  std::atomic<std::uint32_t> state_{unlocked};
  detail::spinlock guard_;
  detail::wait_list waiters_;
};

enum class cv_status { no_timeout, timeout };

/// Waits with any lock that has lock() and unlock(). Requires: unlock() does not wait.
class condition_variable_any {
 public:
  condition_variable_any() noexcept = default;
  condition_variable_any(const condition_variable_any&) = delete;
  condition_variable_any& operator=(const condition_variable_any&) = delete;

  void notify_one();
  void notify_all();

  template <class Lock>
  void wait(Lock& lock) {
    guard_.lock();
    lock.unlock();  // after guard_ is held, so that a notification from now on finds this waiter
    detail::wait_on(waiters_, guard_, "condition_variable");
    lock.lock();
  }
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate done) {
    while (!done()) wait(lock);
  }

  template <class Lock, class Duration>
  cv_status wait_for(Lock& lock, const Duration& d) {
    return wait_ticks(lock, detail::deadline_in(detail::seconds_of(d)));
  }
  template <class Lock, class Duration, class Predicate>
  bool wait_for(Lock& lock, const Duration& d, Predicate done) {
    return wait_ticks(lock, detail::deadline_in(detail::seconds_of(d)), done);
  }
  template <class Lock, class TimePoint>
  cv_status wait_until(Lock& lock, const TimePoint& t) {
    return wait_ticks(lock, detail::deadline_in(detail::seconds_until(t)));
  }
  template <class Lock, class TimePoint, class Predicate>
  bool wait_until(Lock& lock, const TimePoint& t, Predicate done) {
    return wait_ticks(lock, detail::deadline_in(detail::seconds_until(t)), done);
  }

 private:
  template <class Lock>
  cv_status wait_ticks(Lock& lock, ticks deadline) {
    guard_.lock();
    lock.unlock();
    const bool notified = detail::wait_on_until(waiters_, guard_, "condition_variable, with a deadline", deadline);
    lock.lock();
    return notified ? cv_status::no_timeout : cv_status::timeout;
  }
  template <class Lock, class Predicate>
  bool wait_ticks(Lock& lock, ticks deadline, Predicate& done) {
    while (!done())
      if (wait_ticks(lock, deadline) == cv_status::timeout) return done();
    return true;
  }

  detail::spinlock guard_;
  detail::wait_list waiters_;
};

using condition_variable = condition_variable_any;

}  // namespace plx
