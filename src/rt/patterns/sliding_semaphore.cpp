#include "rt/patterns/sliding_semaphore.hpp"

#include "base/assert.hpp"
#include "rt/core/scheduler.hpp"

namespace plx {

using detail::spin_guard;

sliding_semaphore::sliding_semaphore(std::int64_t max_difference, std::int64_t lower_limit)
    : max_difference_(max_difference), lower_(lower_limit) {
  PLX_ASSERT(max_difference >= 0, max_difference);
}

// Requires: guard_ held. The difference may exceed the range of the type: then it is larger than any width.
bool sliding_semaphore::open(std::int64_t upper) const noexcept {
  return upper <= lower_ || static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower_) <=
                                static_cast<std::uint64_t>(max_difference_);
}

void sliding_semaphore::wait(std::int64_t upper) {
  detail::choice_point();
  guard_.lock();
  const std::uint64_t passes = passes_;
  while (!open(upper) && passes == passes_) {
    detail::wait_on(waiters_, guard_, "sliding_semaphore", this);
    guard_.lock();
  }
  guard_.unlock();
}

bool sliding_semaphore::try_wait(std::int64_t upper) const noexcept {
  spin_guard guard(guard_);
  return open(upper);
}

bool sliding_semaphore::wait_ticks(std::int64_t upper, ticks deadline) {
  detail::choice_point();
  guard_.lock();
  const std::uint64_t passes = passes_;
  bool in_time = true;
  while (in_time && !open(upper) && passes == passes_) {
    in_time = detail::wait_on_until(waiters_, guard_, {"sliding_semaphore", this}, deadline);
    guard_.lock();
  }
  const bool passed = open(upper) || passes != passes_;
  guard_.unlock();
  return passed;
}

void sliding_semaphore::signal(std::int64_t lower) {
  detail::choice_point();
  detail::waiter* all = nullptr;
  {
    spin_guard guard(guard_);
    if (lower > lower_) {
      lower_ = lower;
      all = waiters_.take_all();
    }
  }
  detail::notify_all(all);
}

std::int64_t sliding_semaphore::signal_all() {
  detail::choice_point();
  detail::waiter* all = nullptr;
  std::int64_t lower = 0;
  {
    spin_guard guard(guard_);
    ++passes_;
    lower = lower_;
    all = waiters_.take_all();
  }
  detail::notify_all(all);
  return lower;
}

void sliding_semaphore::set_max_difference(std::int64_t max_difference) {
  PLX_ASSERT(max_difference >= 0, max_difference);
  detail::waiter* all = nullptr;
  {
    spin_guard guard(guard_);
    max_difference_ = max_difference;
    all = waiters_.take_all();
  }
  detail::notify_all(all);
}

}  // namespace plx
