// timed_mutex, recursive_mutex and recursive_timed_mutex, as in the standard, for tasks and foreign threads.
//
// Thread safety: that is their purpose. Cost: a short spinlock at each lock and unlock. Example: mutexes_test.cpp.
#pragma once

#include "rt/detail/deadline.hpp"
#include "rt/detail/wait.hpp"

namespace plx {
namespace detail {

/// A lock that is handed over to the longest waiter. Recursive: its owner may take it again.
class handed_mutex {
 public:
  handed_mutex() noexcept = default;
  handed_mutex(const handed_mutex&) = delete;
  handed_mutex& operator=(const handed_mutex&) = delete;
  ~handed_mutex() { spin_guard wait_for_the_last_unlock(guard_); }

  void lock();
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
  std::uintptr_t holder_ = 0;    // where its stack is, for explain_waits()
  std::size_t depth_ = 0;
  wait_list waiters_;
};

/// The timed forms of a mutex that has lock_until().
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

class recursive_mutex : public detail::handed_mutex {
 public:
  recursive_mutex() noexcept : detail::handed_mutex(true) {}
};
class timed_mutex : public detail::with_deadline<detail::handed_mutex> {};
class recursive_timed_mutex : public detail::with_deadline<recursive_mutex> {};

}  // namespace plx
