// sliding_semaphore: a producer of work stays at most a given number of steps ahead of its completion.
//
//   plx::sliding_semaphore window(10);
//   for (int t = 0; t < steps; ++t) {
//     window.wait(t);                                                    // until step t - 10 has been signalled
//     step(t).then([&window, t](auto) { window.signal(t); });
//   }
//
// Thread safety: everything; tasks and external threads. Cost: a short spinlock; a signal wakes all waiters, which
// check again. Example: sliding_semaphore_test.cpp.
#pragma once

#include <cstdint>

#include "rt/sync/deadline.hpp"
#include "rt/sync/wait.hpp"

namespace plx {

class sliding_semaphore {
 public:
  /// wait(upper) waits while upper - lower > max_difference; `lower` is the largest number signalled, initially
  /// `lower_limit`. Requires: max_difference >= 0.
  explicit sliding_semaphore(std::int64_t max_difference, std::int64_t lower_limit = 0);
  sliding_semaphore(const sliding_semaphore&) = delete;
  sliding_semaphore& operator=(const sliding_semaphore&) = delete;
  ~sliding_semaphore() { detail::spin_guard wait_for_the_signaller(guard_); }

  /// Waits until `upper` is at most max_difference above the lower end.
  void wait(std::int64_t upper);
  /// True if wait(upper) would not wait.
  [[nodiscard]] bool try_wait(std::int64_t upper = 1) const noexcept;
  /// False if the time passed first.
  template <class Duration>
  bool wait_for(std::int64_t upper, const Duration& d) {
    return wait_until_open(upper, detail::time_limit::after(d));
  }
  template <class TimePoint>
  bool wait_until(std::int64_t upper, const TimePoint& t) {
    return wait_until_open(upper, detail::time_limit::at(t));
  }

  /// Raises the lower end to `lower`; signals may arrive in any order, the largest one counts.
  void signal(std::int64_t lower);
  /// Releases all current waiters. Returns the lower end.
  std::int64_t signal_all();
  /// Sets another width, for instance when memory runs short.
  void set_max_difference(std::int64_t max_difference);

 private:
  [[nodiscard]] bool open(std::int64_t upper) const noexcept;
  bool wait_ticks(std::int64_t upper, ticks deadline);
  bool wait_until_open(std::int64_t upper, detail::time_limit limit) {
    return detail::wait_within(limit, [&](ticks deadline) { return wait_ticks(upper, deadline); });
  }

  mutable detail::spinlock guard_;
  std::int64_t max_difference_;
  std::int64_t lower_;
  std::uint64_t passes_ = 0;  // calls of signal_all()
  detail::wait_list waiters_;
};

}  // namespace plx
