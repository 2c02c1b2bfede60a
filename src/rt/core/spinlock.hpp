// A lock for critical sections of a few dozen instructions that never wait inside.
//
// Thread-safe. Cost: one exchange to take, one store to release. A task may be suspended while
// the lock is held only if the scheduler releases it right after the switch (see rt/sync/wait.hpp).
#pragma once

#include <atomic>
#include <cstddef>

#include "base/sanitizers.hpp"

// Properties of the CPU: cache lines, the pause instruction.

namespace plx::detail {

/// Twice the usual cache line, because adjacent-line prefetchers fetch lines in pairs.
inline constexpr std::size_t cache_line_bytes = 128;

inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

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
  void wait_until_free() noexcept;  // spins, then yields the CPU: the holder may have been preempted
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

  /// Leaves the lock locked; the caller passes ownership on.
  void release() noexcept { lock_ = nullptr; }

 private:
  spinlock* lock_;
};

}  // namespace plx::detail
