// mutex and condition_variable, as in the standard, for tasks and external threads.
//
// Thread safety: everything may be called concurrently. Cost: one compare-and-swap to lock a free mutex, one exchange
// to unlock; a task that must wait suspends (two stack switches). Example: sync_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "rt/stop_token.hpp"
#include "rt/sync/deadline.hpp"
#include "rt/sync/wait.hpp"

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
  /// With a name under which waits are reported: in waits.csv, by `parallax diagnose`, and by explain_waits(). The
  /// name costs a table lookup here, and nothing when the mutex is used.
  explicit mutex(std::string_view name);
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  /// The next owner may destroy the mutex while the previous one is still inside unlock_slowly().
  ~mutex() { detail::spin_guard wait_for_it(guard_); }

  void lock() {
    std::uint32_t expected = unlocked;
    // acquire: pairs with the release in unlock().
    unsigned waits = 0;
    if (!state_.compare_exchange_strong(expected, locked, std::memory_order_acquire, std::memory_order_relaxed))
      waits = lock_slowly();
    holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
    span_.taken(waits);
  }
  bool try_lock() noexcept {
    std::uint32_t expected = unlocked;
    if (!state_.compare_exchange_strong(expected, locked, std::memory_order_acquire, std::memory_order_relaxed))
      return false;
    holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
    span_.taken();
    return true;
  }
  void unlock() {
    span_.released(this, name_);
    std::uint32_t expected = locked;
    // release: pairs with the acquires in lock(), try_lock() and lock_slowly().
    if (!state_.compare_exchange_strong(expected, unlocked, std::memory_order_release, std::memory_order_relaxed))
      unlock_slowly();
  }

 private:
  static constexpr std::uint32_t unlocked = 0, locked = 1, contended = 2;
  unsigned lock_slowly();  // returns the number of waits
  void unlock_slowly();
  static std::uintptr_t holder_of(const void* m) noexcept;

  // contended: waiters_ may be non-empty. Invariant: while waiters_ is not empty, the state is contended, or a woken
  // waiter is about to set it to contended.
  std::atomic<std::uint32_t> state_{unlocked};
  detail::spinlock guard_;
  std::uint16_t name_ = 0;  // a probe::name_id, which stays below 2^14; uses padding
  detail::wait_list waiters_;
  detail::waits_for_holder waits_;
  detail::lock_span span_;
  std::atomic<std::uintptr_t> holder_{0};  // an address on the stack of the last owner, for explain_waits()
};

enum class cv_status { no_timeout, timeout };

/// Waits with any lock type that has lock() and unlock(). Requires: unlock() does not wait.
class condition_variable_any {
 public:
  condition_variable_any() noexcept = default;
  /// With a name under which waits are reported, as for a mutex.
  explicit condition_variable_any(std::string_view name);
  /// For a class with an internal condition variable: its waits are reported as waiting for `what`.
  explicit condition_variable_any(detail::wait_name what) noexcept : what_(what.text) {}
  condition_variable_any(const condition_variable_any&) = delete;
  condition_variable_any& operator=(const condition_variable_any&) = delete;

  void notify_one();
  void notify_all();

  template <class Lock>
  void wait(Lock& lock) {
    unlock_guarded(lock);
    detail::wait_on(waiters_, guard_, what_, this, name_);
    lock_again(lock);
  }
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate done) {
    while (!done()) wait(lock);
  }

  /// Waits until `done()` or a stop request; returns the last value of `done()`.
  template <class Lock, class Predicate>
  bool wait(Lock& lock, stop_token token, Predicate done) {
    const auto listed = [this] {
      detail::wait_on(waiters_, guard_, "condition_variable (or stop request)", this, name_);
      return true;
    };
    return wait_stoppable(lock, token, done, listed, [] { return true; });
  }

  template <class Lock, class Duration>
  cv_status wait_for(Lock& lock, const Duration& d) {
    return wait_within(lock, detail::time_limit::after(d));
  }
  template <class Lock, class Duration, class Predicate>
  bool wait_for(Lock& lock, const Duration& d, Predicate done) {
    return wait_within(lock, detail::time_limit::after(d), done);
  }
  template <class Lock, class Duration, class Predicate>
  bool wait_for(Lock& lock, stop_token token, const Duration& d, Predicate done) {
    return wait_within(lock, token, detail::time_limit::after(d), done);
  }
  template <class Lock, class TimePoint>
  cv_status wait_until(Lock& lock, const TimePoint& t) {
    return wait_within(lock, detail::time_limit::at(t));
  }
  template <class Lock, class TimePoint, class Predicate>
  bool wait_until(Lock& lock, const TimePoint& t, Predicate done) {
    return wait_within(lock, detail::time_limit::at(t), done);
  }
  template <class Lock, class TimePoint, class Predicate>
  bool wait_until(Lock& lock, stop_token token, const TimePoint& t, Predicate done) {
    return wait_within(lock, token, detail::time_limit::at(t), done);
  }

 private:
  /// Unlocks `lock` while guard_ is held, so that a later notification finds the caller in waiters_; guard_ stays held.
  /// If unlock() throws, as that of a unique_lock without a mutex does, guard_ is released.
  template <class Lock>
  void unlock_guarded(Lock& lock) {
    detail::require_stack_to_wait();  // otherwise the wait could fail with `lock` unlocked
    detail::spin_guard guard(guard_);
    lock.unlock();
    guard.release();
  }
  /// After a wait the caller owns the lock again: an exception from lock() ends the program, as in the standard.
  template <class Lock>
  static void lock_again(Lock& lock) noexcept {
    lock.lock();
  }
  // If the clock of the limit is behind, the wait ends as a spurious wakeup: a notification may have arrived in the
  // meantime, which only the caller can determine.
  template <class Lock>
  cv_status wait_once(Lock& lock, detail::time_limit& limit) {
    unlock_guarded(lock);
    const bool notified = detail::wait_on_until(waiters_, guard_, {what_, this, name_}, limit.deadline());
    lock_again(lock);
    return notified || !limit.passed() ? cv_status::no_timeout : cv_status::timeout;
  }
  template <class Lock>
  cv_status wait_within(Lock& lock, detail::time_limit limit) {
    return wait_once(lock, limit);
  }
  template <class Lock, class Predicate>
  bool wait_within(Lock& lock, detail::time_limit limit, Predicate& done) {
    while (!done())
      if (wait_once(lock, limit) == cv_status::timeout) return done();
    return true;
  }

  // The callback of a stop request takes guard_, too: either it runs first, and the request is seen under guard_, or it
  // finds this waiter in the list.
  template <class Lock, class Wait, class GoesOn>
  bool wait_unless_stopped(Lock& lock, const stop_token& token, Wait& wait_listed, GoesOn& goes_on) {
    detail::require_stack_to_wait();  // as above
    {
      detail::spin_guard guard(guard_);
      if (token.stop_requested()) return false;
      lock.unlock();
      guard.release();
    }
    const bool notified = wait_listed();
    lock_again(lock);
    return notified || goes_on();
  }
  template <class Lock, class Predicate>
  bool wait_within(Lock& lock, const stop_token& token, detail::time_limit limit, Predicate& done) {
    const auto listed = [&] {
      return detail::wait_on_until(waiters_, guard_, {"condition_variable (or stop request)", this, name_},
                                   limit.deadline());
    };
    return wait_stoppable(lock, token, done, listed, [&] { return !limit.passed(); });
  }
  /// After a wait that was not notified, `goes_on()` decides whether to wait again.
  template <class Lock, class Predicate, class Wait, class GoesOn>
  bool wait_stoppable(Lock& lock, const stop_token& token, Predicate& done, Wait wait_listed, GoesOn goes_on) {
    if (token.stop_requested()) return done();
    const stop_callback notifies(token, [this] { notify_all(); });
    while (!done())
      if (!wait_unless_stopped(lock, token, wait_listed, goes_on)) return done();
    return true;
  }

  detail::spinlock guard_;
  std::uint16_t name_ = 0;  // as in mutex
  const char* what_ = "condition_variable";
  detail::wait_list waiters_;
};

using condition_variable = condition_variable_any;

/// At the end of the running task: unlocks, then notifies. Requires: the caller owns `lock`.
void notify_all_at_thread_exit(condition_variable& condition, std::unique_lock<mutex> lock);

// timed_mutex, recursive_mutex and recursive_timed_mutex, as in the standard, for tasks and external threads.
//
// Thread safety: everything may be called concurrently. Cost: a short spinlock at each lock and unlock. Example:
// mutexes_test.cpp.

namespace detail {

/// A lock that is handed over to the longest waiter. If recursive, its owner may lock it again.
class handed_mutex {
 public:
  handed_mutex() noexcept = default;
  handed_mutex(const handed_mutex&) = delete;
  handed_mutex& operator=(const handed_mutex&) = delete;
  ~handed_mutex() { spin_guard wait_for_the_last_unlock(guard_); }

  void lock() { lock_until(no_deadline); }
  bool try_lock() noexcept;
  void unlock();

 protected:
  explicit handed_mutex(bool recursive) noexcept : recursive_(recursive) {}
  bool lock_until(time_limit limit) {
    return wait_within(limit, [this](ticks deadline) { return lock_until(deadline); });
  }

 private:
  bool lock_until(ticks deadline);
  bool take(const void* me) noexcept;
  wait_reason why() const noexcept;

  spinlock guard_;
  const bool recursive_ = false;
  const void* owner_ = nullptr;  // the task or thread, see this_thread::get_id(); null while free
  std::uintptr_t holder_ = 0;    // an address on its stack, for explain_waits()
  std::size_t depth_ = 0;
  wait_list waiters_;
  waits_for_holder waits_;
  lock_span span_;
};

/// The timed functions of a mutex that has lock_until().
template <class Mutex>
class with_deadline : public Mutex {
 public:
  template <class Duration>
  bool try_lock_for(const Duration& d) {
    return this->lock_until(time_limit::after(d));
  }
  template <class TimePoint>
  bool try_lock_until(const TimePoint& t) {
    return this->lock_until(time_limit::at(t));
  }
};

}  // namespace detail

/// As std::recursive_mutex: the task or thread that holds it may lock it again.
class recursive_mutex : public detail::handed_mutex {
 public:
  recursive_mutex() noexcept : detail::handed_mutex(true) {}
};
class timed_mutex : public detail::with_deadline<detail::handed_mutex> {};
class recursive_timed_mutex : public detail::with_deadline<recursive_mutex> {};

}  // namespace plx
