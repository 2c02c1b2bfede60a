// A lock for critical sections of a few dozen instructions that never wait inside.
//
// Thread safety: that is its purpose. Cost: one exchange to take, one store to release. A task may be suspended while
// the lock is held only if the scheduler releases it right after the switch (see detail/wait.hpp).
#pragma once

#include <atomic>

#include "rt/detail/platform.hpp"

namespace plx::detail {

class spinlock {
 public:
  void lock() noexcept {
    // acquire: pairs with the release in unlock().
    while (locked_.exchange(true, std::memory_order_acquire)) wait_until_free();
  }
  bool try_lock() noexcept {
    return !locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  void wait_until_free() noexcept;  // spins, then gives the processor away: the holder may have been preempted
  std::atomic<bool> locked_{false};
};

class spin_guard {
 public:
  explicit spin_guard(spinlock& l) noexcept : lock_(&l) { lock_->lock(); }
  ~spin_guard() {
    if (lock_ != nullptr) lock_->unlock();
  }
  spin_guard(const spin_guard&) = delete;
  spin_guard& operator=(const spin_guard&) = delete;

  /// Leaves the lock locked; the caller passes it on.
  void release() noexcept { lock_ = nullptr; }

 private:
  spinlock* lock_;
};

}  // namespace plx::detail
