#include "rt/shared_mutex.hpp"

#include "base/assert.hpp"
#include "rt/detail/scheduler.hpp"

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
    PLX_ASSERT(writer_ && "unlock() of a shared_mutex that nobody has locked");
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
    PLX_ASSERT(readers_ > 0 && "unlock_shared() of a shared_mutex that nobody has locked", readers_);
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
  // Readers that queued behind this writer must not wait for it any more.
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
