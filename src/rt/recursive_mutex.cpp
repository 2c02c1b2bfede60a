#include "rt/recursive_mutex.hpp"

#include "base/assert.hpp"
#include "rt/detail/scheduler.hpp"
#include "rt/thread.hpp"

namespace plx::detail {
namespace {

// Stands for the waiter that was chosen and has not gone on yet: nobody's identity.
constexpr char handed_over = 0;

}  // namespace

// Requires: guard_ held.
bool handed_mutex::take(const void* me) noexcept {
  if (owner_ == nullptr) {
    owner_ = me;
    std::atomic_ref(holder_).store(PLX_STACK_HERE(), std::memory_order_relaxed);
    depth_ = 1;
    return true;
  }
  if (!recursive_ || owner_ != me) return false;
  ++depth_;
  return true;
}

wait_reason handed_mutex::why() const noexcept {
  wait_reason r("mutex", this);
  r.holder = [](const void* m) noexcept {
    auto& holder = const_cast<std::uintptr_t&>(static_cast<const handed_mutex*>(m)->holder_);
    return std::atomic_ref(holder).load(std::memory_order_relaxed);
  };
  return r;
}

void handed_mutex::lock() {
  choice_point();
  const void* me = current_task_id();
  guard_.lock();
  if (take(me)) {
    guard_.unlock();
    return;
  }
  PLX_ASSERT(owner_ != me && "a task locks a mutex that it holds, and waits for itself");
  wait_on(waiters_, guard_, why());
  spin_guard guard(guard_);
  owner_ = me;
  std::atomic_ref(holder_).store(PLX_STACK_HERE(), std::memory_order_relaxed);
}

bool handed_mutex::lock_until(ticks deadline) {
  choice_point();
  const void* me = current_task_id();
  guard_.lock();
  if (take(me)) {
    guard_.unlock();
    return true;
  }
  if (!wait_on_until(waiters_, guard_, why(), deadline)) return false;
  spin_guard guard(guard_);
  owner_ = me;
  std::atomic_ref(holder_).store(PLX_STACK_HERE(), std::memory_order_relaxed);
  return true;
}

bool handed_mutex::try_lock() noexcept {
  spin_guard guard(guard_);
  return take(current_task_id());
}

void handed_mutex::unlock() {
  waiter* next = nullptr;
  {
    spin_guard guard(guard_);
    PLX_ASSERT(owner_ == current_task_id() && "a mutex is unlocked by who holds it");
    if (--depth_ > 0) return;
    next = waiters_.pop();
    owner_ = next != nullptr ? &handed_over : nullptr;
    std::atomic_ref(holder_).store(0, std::memory_order_relaxed);
    depth_ = next != nullptr ? 1 : 0;
  }
  if (next != nullptr) next->notify();
}

}  // namespace plx::detail
