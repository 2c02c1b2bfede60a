#include "rt/stop_token.hpp"

#include "rt/core/scheduler.hpp"
#include "rt/thread.hpp"

namespace plx::detail {

bool stop_state::add(stop_callback_node& c) noexcept {
  choice_point();
  spin_guard guard(guard_);
  // Under the lock: request_stop() sets the flag under it, so either it finds the callback or the callback finds it.
  if (requested() || sources_.load(std::memory_order_acquire) == 0) return false;
  c.listed = true;
  c.next = first_;
  c.previous = nullptr;
  if (first_ != nullptr) first_->previous = &c;
  first_ = &c;
  return true;
}

bool stop_state::request_stop() noexcept {
  choice_point();
  guard_.lock();
  if (requested()) {
    guard_.unlock();
    return false;
  }
  add_ref();  // a callback may drop the last source
  requested_.store(true, std::memory_order_release);
  requester_ = current_task_id();
  while (first_ != nullptr) {
    stop_callback_node* c = first_;
    first_ = c->next;
    if (first_ != nullptr) first_->previous = nullptr;
    c->listed = false;
    running_ = c;
    guard_.unlock();
    choice_point();
    c->call(c);
    choice_point();
    guard_.lock();
    running_ = nullptr;
    waiter* all = waiters_.take_all();
    guard_.unlock();
    notify_all(all);
    guard_.lock();
  }
  guard_.unlock();
  release();
  return true;
}

void stop_state::remove(stop_callback_node& c) noexcept {
  choice_point();
  guard_.lock();
  if (c.listed) {
    (c.previous != nullptr ? c.previous->next : first_) = c.next;
    if (c.next != nullptr) c.next->previous = c.previous;
    guard_.unlock();
  } else if (running_ == &c && requester_ != current_task_id()) {
    wait_on(waiters_, guard_, "stop_callback, until it has run");
  } else {
    guard_.unlock();
  }
}

}  // namespace plx::detail
