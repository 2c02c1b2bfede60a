// sliding_semaphore: a producer of work stays at most a given number of steps ahead of its completion.
//
//   plx::sliding_semaphore window(10);
//   for (int t = 0; t < steps; ++t) {
//     window.wait(t);                                                    // until step t - 10 has been signalled
//     step(t).then([&window, t](auto) { window.signal(t); });
//   }
//
// Thread safety: everything; tasks and external threads. Cost: a lock; a signal wakes all waiters, which check again.
// Example: sliding_semaphore_test.cpp.
#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "rt/mutex.hpp"

namespace plx {

class sliding_semaphore {
  // The difference may exceed the range of the type: then it is larger than any width.
  [[nodiscard]] bool open(std::int64_t upper) const noexcept {
    return upper <= lower_ || static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower_) <=
                                  static_cast<std::uint64_t>(max_difference_);
  }
  [[nodiscard]] auto opened(std::int64_t upper) const noexcept {
    return [this, upper, passes = passes_] { return open(upper) || passes != passes_; };
  }

 public:
  /// wait(upper) waits while upper - lower > max_difference; `lower` is the largest number signalled, initially
  /// `lower_limit`. Requires: max_difference >= 0.
  explicit sliding_semaphore(std::int64_t max_difference, std::int64_t lower_limit = 0)
      : max_difference_(max_difference), lower_(lower_limit) {
    PLX_ASSERT(max_difference >= 0, max_difference);
  }

  /// Waits until `upper` is at most max_difference above the lower end.
  void wait(std::int64_t upper) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, opened(upper));
  }
  /// True if wait(upper) would not wait.
  [[nodiscard]] bool try_wait(std::int64_t upper = 1) const {
    const std::lock_guard lock(mutex_);
    return open(upper);
  }
  /// False if the time passed first.
  template <class Duration>
  bool wait_for(std::int64_t upper, const Duration& d) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, d, opened(upper));
  }
  template <class TimePoint>
  bool wait_until(std::int64_t upper, const TimePoint& t) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, t, opened(upper));
  }

  /// Raises the lower end to `lower`; signals may arrive in any order, the largest one counts.
  void signal(std::int64_t lower) {
    const std::lock_guard lock(mutex_);
    if (lower <= lower_) return;
    lower_ = lower;
    changed_.notify_all();
  }
  /// Releases all current waiters. Returns the lower end.
  std::int64_t signal_all() {
    const std::lock_guard lock(mutex_);
    ++passes_;
    changed_.notify_all();
    return lower_;
  }
  /// Sets another width, for instance when memory runs short.
  void set_max_difference(std::int64_t max_difference) {
    PLX_ASSERT(max_difference >= 0, max_difference);
    const std::lock_guard lock(mutex_);
    max_difference_ = max_difference;
    changed_.notify_all();
  }

 private:
  mutable mutex mutex_;
  condition_variable changed_{detail::wait_name{"sliding_semaphore"}};
  std::int64_t max_difference_;
  std::int64_t lower_;
  std::uint64_t passes_ = 0;  // calls of signal_all()
};

}  // namespace plx
