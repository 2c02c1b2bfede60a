// Timers of one worker: a binary heap by deadline. The timers themselves live in the frames of the waiting
// tasks.
//
// Thread-safe. Cost: a lock and O(log n) to arm or cancel; one relaxed load to see that nothing is due.
// The callback runs outside the lock, on the worker that found the timer due; it must not wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::detail {

class timer_queue;

struct timer {
  ticks deadline = 0;
  void (*fire)(void* context) = nullptr;
  void* context = nullptr;

  timer_queue* queue = nullptr;
  std::uint32_t index = 0;  // place in the heap, guarded by the queue's lock
  enum class phase : std::uint8_t { idle, armed, firing, done };
  std::atomic<phase> state{phase::idle};
};

class timer_queue {
 public:
  static constexpr ticks never = ~ticks{0};

  void arm(timer& t);
  /// True when the timer was stopped before it fired. In both cases the queue does not touch `t` after this call.
  static bool cancel(timer& t) noexcept;
  /// Calls the callbacks of all timers due by `now`; returns their number.
  unsigned fire_due(ticks now);
  [[nodiscard]] ticks next_deadline() const noexcept { return next_.load(std::memory_order_relaxed); }

 private:
  void place(std::uint32_t i, timer* t) noexcept;
  void sift_up(std::uint32_t i) noexcept;
  void sift_down(std::uint32_t i) noexcept;
  void remove(std::uint32_t i) noexcept;

  spinlock lock_;
  std::vector<timer*> heap_;
  std::atomic<ticks> next_{never};
};

// How late the operating system may end a thread's sleep. By default up to 50 us, so that it can wake several sleepers
// together.
//
// Applies to the calling thread. Cost: a system call if the setting changes, otherwise a load.

/// True: the calling thread's sleeps end as early as possible. False: as they did initially. Returns the previous
/// setting, so that a caller can restore it.
bool sleep_sharply(bool sharply) noexcept;

}  // namespace plx::detail
