// The waiting parts of mutex, condition_variable_any, latch, counting_semaphore and barrier.
#include "rt/core/scheduler.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"

namespace plx {

using detail::spin_guard;
using detail::waiter;

static_assert(probe::max_names <= 1u << 16);

mutex::mutex(std::string_view name) : name_(static_cast<std::uint16_t>(probe::register_name(name))) {}
condition_variable_any::condition_variable_any(std::string_view name)
    : name_(static_cast<std::uint16_t>(probe::register_name(name))) {}

void mutex::lock_slowly() {
  detail::choice_point();
  for (;;) {
    guard_.lock();
    // A waiter leaves the state `contended`; acquiring the lock this way costs at most one unnecessary check of the
    // list.
    if (state_.exchange(contended, std::memory_order_acquire) == unlocked) {
      guard_.unlock();
      return;
    }
    detail::wait_reason why("mutex", this, name_);
    why.holder = holder_of;
    detail::wait_on(waiters_, guard_, why);
  }
}

std::uintptr_t mutex::holder_of(const void* m) noexcept {
  const auto& self = *static_cast<const mutex*>(m);
  return self.state_.load(std::memory_order_relaxed) == unlocked ? 0 : self.holder_.load(std::memory_order_relaxed);
}

void mutex::unlock_slowly() {
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    w = waiters_.pop();
    state_.store(unlocked, std::memory_order_release);  // pairs with the acquires in lock() and lock_slowly()
  }
  if (w != nullptr) w->notify();
}

void condition_variable_any::notify_one() {
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    w = waiters_.pop();
  }
  if (w != nullptr) w->notify();
  detail::choice_point();
}

void condition_variable_any::notify_all() {
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    w = waiters_.take_all();
  }
  detail::notify_all(w);
  detail::choice_point();
}

void latch::count_down(std::ptrdiff_t n) {
  detail::choice_point();
  // The last count is released under the guard, so that a woken waiter may destroy the latch: waiters take the guard,
  // too, before they return.
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    // acq_rel: a thread that reads zero, here or with acquire in wait() and try_wait(), sees the writes before each
    // count.
    const std::ptrdiff_t before = missing_.fetch_sub(n, std::memory_order_acq_rel);
    PLX_ASSERT(n >= 0 && n <= before, n, before);
    if (before == n) w = waiters_.take_all();
  }
  detail::notify_all(w);
}

void latch::wait() const {
  detail::choice_point();
  guard_.lock();
  if (missing_.load(std::memory_order_acquire) == 0)
    guard_.unlock();
  else
    detail::wait_on(waiters_, guard_, "latch", this);
}

namespace detail {

void semaphore_base::release(std::ptrdiff_t n) {
  choice_point();
  // All units in one critical section: a task that got one may destroy the semaphore.
  waiter* owners = nullptr;
  waiter** last = &owners;
  {
    spin_guard guard(guard_);
    PLX_ASSERT(n >= 0 && n <= most_ - free_ && "release() beyond the max() of the semaphore", n, free_, most_);
    for (; n > 0; --n) {
      waiter* w = waiters_.pop();
      if (w == nullptr) break;
      w->next = nullptr;
      *last = w;
      last = &w->next;
    }
    free_ += n;
  }
  notify_all(owners);
}

bool semaphore_base::try_acquire() noexcept {
  spin_guard guard(guard_);
  if (free_ == 0) return false;
  --free_;
  return true;
}

void semaphore_base::acquire() {
  choice_point();
  guard_.lock();
  if (free_ > 0) {
    --free_;
    guard_.unlock();
  } else {
    wait_on(waiters_, guard_, "semaphore", this);
  }
}

bool semaphore_base::acquire_until(ticks deadline) {
  choice_point();
  guard_.lock();
  if (free_ > 0) {
    --free_;
    guard_.unlock();
    return true;
  }
  return wait_on_until(waiters_, guard_, {"semaphore", this}, deadline);
}

std::size_t barrier_base::arrive(std::ptrdiff_t n, bool drop, complete_function complete) {
  choice_point();
  guard_.lock();
  PLX_ASSERT(n > 0 && n <= missing_, n, missing_);
  const std::size_t phase = phase_;
  missing_ -= n;
  if (drop) --expected_;
  const bool last = missing_ == 0;
  guard_.unlock();
  if (!last) return phase;
  complete(*this);  // outside the lock: it may wait. No other arrival is possible in this phase
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    missing_ = expected_;
    ++phase_;
    w = waiters_.take_all();
  }
  notify_all(w);
  return phase;
}

void barrier_base::wait(std::size_t phase) const {
  choice_point();
  guard_.lock();
  if (phase_ != phase)
    guard_.unlock();
  else
    wait_on(waiters_, guard_, "barrier", this);
}

}  // namespace detail
}  // namespace plx
