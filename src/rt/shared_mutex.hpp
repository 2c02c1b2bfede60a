// shared_mutex, shared_timed_mutex and shared_lock, as in the standard: many readers or one writer, in turns.
//
// Thread safety: everything may be called concurrently, by tasks and external threads. Cost: a short spinlock at each
// lock and unlock; a task that must wait suspends. Ownership is handed over, so neither readers nor writers starve.
// Example: mutexes_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <shared_mutex>

#include "rt/mutex.hpp"

namespace plx {

using std::shared_lock;

class shared_mutex {
 public:
  shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;
  ~shared_mutex() { detail::spin_guard wait_for_the_last_unlock(guard_); }

  void lock() { lock_until(detail::no_deadline); }
  bool try_lock() noexcept;
  void unlock();
  void lock_shared() { lock_shared_until(detail::no_deadline); }
  bool try_lock_shared() noexcept;
  void unlock_shared();

 protected:
  bool lock_until(detail::time_limit limit) {
    return detail::wait_within(limit, [this](ticks deadline) { return lock_until(deadline); });
  }
  bool lock_shared_until(detail::time_limit limit) {
    return detail::wait_within(limit, [this](ticks deadline) { return lock_shared_until(deadline); });
  }

 private:
  bool lock_until(ticks deadline);
  bool lock_shared_until(ticks deadline);
  // Phase-fair: a writer is followed by all readers that arrived meanwhile, these by the next writer. Ownership is
  // handed over under the guard: a waiter that is notified already owns the lock.
  detail::waiter* admit_readers() noexcept;
  void released(const detail::waiter* admitted) noexcept;
  detail::wait_reason why(const char* what) const noexcept;

  detail::spinlock guard_;
  std::int64_t readers_ = 0;
  bool writer_ = false;
  std::atomic<std::uintptr_t> holder_{0};  // the writer, for explain_waits(); readers are not recorded
  detail::wait_list waiting_writers_;
  detail::wait_list waiting_readers_;
  detail::waits_for_holder waits_;
};

/// A shared_mutex with deadlines, as in the standard.
class shared_timed_mutex : public detail::with_deadline<shared_mutex> {
 public:
  template <class Duration>
  bool try_lock_shared_for(const Duration& d) {
    return lock_shared_until(detail::time_limit::after(d));
  }
  template <class TimePoint>
  bool try_lock_shared_until(const TimePoint& t) {
    return lock_shared_until(detail::time_limit::at(t));
  }
};

}  // namespace plx
