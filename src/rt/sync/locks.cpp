
#include "base/assert.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/mutex.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/thread.hpp"

namespace plx::detail {
namespace {

// The owner while the chosen waiter has not resumed yet; not the identity of any task or thread.
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
  PLX_ASSERT(owner_ != me && "a task locked a mutex that it already holds (self-deadlock)");
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
    PLX_ASSERT(owner_ == current_task_id() && "a mutex was unlocked by a task that does not hold it");
    if (--depth_ > 0) return;
    next = waiters_.pop();
    owner_ = next != nullptr ? &handed_over : nullptr;
    std::atomic_ref(holder_).store(0, std::memory_order_relaxed);
    depth_ = next != nullptr ? 1 : 0;
  }
  if (next != nullptr) next->notify();
}

}  // namespace plx::detail

namespace plx {

using detail::spin_guard;
using detail::waiter;

// Requires: guard_ held, no writer. All waiting readers become owners; their list is returned for notification.
waiter* shared_mutex::admit_readers() noexcept {
  waiter* first = waiting_readers_.take_all();
  for (const waiter* w = first; w != nullptr; w = w->next) ++readers_;
  return first;
}

detail::wait_reason shared_mutex::why(const char* what) const noexcept {
  detail::wait_reason r(what, this);
  r.holder = [](const void* m) noexcept {
    return static_cast<const shared_mutex*>(m)->holder_.load(std::memory_order_relaxed);
  };
  return r;
}

void shared_mutex::lock() {
  detail::choice_point();
  guard_.lock();
  if (!writer_ && readers_ == 0) {
    writer_ = true;
    guard_.unlock();
  } else {
    detail::wait_on(waiting_writers_, guard_, why("shared_mutex, to write"));
  }
  holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
}

bool shared_mutex::try_lock() noexcept {
  spin_guard guard(guard_);
  if (writer_ || readers_ != 0) return false;
  holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
  return writer_ = true;
}

void shared_mutex::unlock() {
  waiter* next = nullptr;
  {
    spin_guard guard(guard_);
    PLX_ASSERT(writer_ && "unlock() of a shared_mutex that is not locked");
    writer_ = false;
    holder_.store(0, std::memory_order_relaxed);
    next = admit_readers();
    if (next == nullptr) {
      next = waiting_writers_.pop();
      if (next != nullptr) next->next = nullptr;
      writer_ = next != nullptr;
    }
  }
  detail::notify_all(next);
}

void shared_mutex::lock_shared() {
  detail::choice_point();
  guard_.lock();
  if (!writer_ && waiting_writers_.empty()) {
    ++readers_;
    guard_.unlock();
  } else {
    detail::wait_on(waiting_readers_, guard_, why("shared_mutex, to read"));
  }
}

bool shared_mutex::try_lock_shared() noexcept {
  spin_guard guard(guard_);
  if (writer_ || !waiting_writers_.empty()) return false;
  ++readers_;
  return true;
}

void shared_mutex::unlock_shared() {
  waiter* next = nullptr;
  {
    spin_guard guard(guard_);
    PLX_ASSERT(readers_ > 0 && "unlock_shared() of a shared_mutex that is not locked", readers_);
    if (--readers_ == 0 && (next = waiting_writers_.pop()) != nullptr) writer_ = true;
  }
  if (next != nullptr) next->notify();
}

bool shared_mutex::lock_until(ticks deadline) {
  detail::choice_point();
  guard_.lock();
  if (!writer_ && readers_ == 0) {
    writer_ = true;
    guard_.unlock();
    holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
    return true;
  }
  if (detail::wait_on_until(waiting_writers_, guard_, why("shared_mutex, to write"), deadline)) {
    holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
    return true;
  }
  // Readers that queued behind this writer must no longer wait for it.
  waiter* readers = nullptr;
  {
    spin_guard guard(guard_);
    if (!writer_ && waiting_writers_.empty()) readers = admit_readers();
  }
  detail::notify_all(readers);
  return false;
}

bool shared_mutex::lock_shared_until(ticks deadline) {
  detail::choice_point();
  guard_.lock();
  if (!writer_ && waiting_writers_.empty()) {
    ++readers_;
    guard_.unlock();
    return true;
  }
  return detail::wait_on_until(waiting_readers_, guard_, why("shared_mutex, to read"), deadline);
}

}  // namespace plx
