#include "rt/event.hpp"

#include "rt/core/scheduler.hpp"

namespace plx {

void event::set() {
  detail::choice_point();
  detail::waiter* all = nullptr;
  {
    detail::spin_guard guard(guard_);
    set_.store(true, std::memory_order_release);  // pairs with the acquire in occurred()
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
    detail::wait_on(waiters_, guard_, "event", this);
}

bool event::wait_ticks(ticks deadline) {
  detail::choice_point();
  guard_.lock();
  if (occurred()) {
    guard_.unlock();
    return true;
  }
  return detail::wait_on_until(waiters_, guard_, {"event", this}, deadline);
}

bool once_flag::begin() {
  detail::choice_point();
  for (;;) {
    guard_.lock();
    const int state = state_.load(std::memory_order_relaxed);
    if (state == 1) {
      detail::wait_reason why("call_once", this);
      why.holder = holder_of;
      detail::wait_on(waiters_, guard_, why);
      continue;
    }
    if (state == 0) {
      state_.store(1, std::memory_order_relaxed);
      holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
    }
    guard_.unlock();
    return state == 0;
  }
}

std::uintptr_t once_flag::holder_of(const void* flag) noexcept {
  const auto& self = *static_cast<const once_flag*>(flag);
  return self.state_.load(std::memory_order_relaxed) == 1 ? self.holder_.load(std::memory_order_relaxed) : 0;
}

void once_flag::end(bool done) noexcept {
  detail::waiter* all = nullptr;
  {
    detail::spin_guard guard(guard_);
    state_.store(done ? 2 : 0, std::memory_order_release);  // pairs with the acquire in call_once()
    all = waiters_.take_all();
  }
  detail::notify_all(all);
}

}  // namespace plx
