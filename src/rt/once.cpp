#include "rt/once.hpp"

#include "rt/detail/scheduler.hpp"

namespace plx {

void event::set() {
  detail::choice_point();
  detail::waiter* all = nullptr;
  {
    detail::spin_guard guard(guard_);
    set_.store(true, std::memory_order_release);
    all = waiters_.take_all();
  }
  detail::notify_all(all);
}

void event::wait_slowly() {
  detail::choice_point();
  guard_.lock();
  if (occurred())
    guard_.unlock();
  else
    detail::wait_on(waiters_, guard_, "event");
}

bool event::wait_ticks(ticks deadline) {
  detail::choice_point();
  guard_.lock();
  if (occurred()) {
    guard_.unlock();
    return true;
  }
  return detail::wait_on_until(waiters_, guard_, "event, with a deadline", deadline);
}

bool once_flag::begin() {
  detail::choice_point();
  for (;;) {
    guard_.lock();
    const int state = state_.load(std::memory_order_relaxed);
    if (state == 1) {
      detail::wait_on(waiters_, guard_, "call_once");
      continue;
    }
    if (state == 0) state_.store(1, std::memory_order_relaxed);
    guard_.unlock();
    return state == 0;
  }
}

void once_flag::end(bool done) noexcept {
  detail::waiter* all = nullptr;
  {
    detail::spin_guard guard(guard_);
    state_.store(done ? 2 : 0, std::memory_order_release);
    all = waiters_.take_all();
  }
  detail::notify_all(all);
}

}  // namespace plx
