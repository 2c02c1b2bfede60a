// Stop requests, threads, and actions at the end of a task.
#include <mutex>
#include <system_error>
#include <utility>

#include "rt/core/scheduler.hpp"
#include "rt/core/topology.hpp"
#include "rt/future/future_state.hpp"
#include "rt/mutex.hpp"
#include "rt/stop_token.hpp"
#include "rt/sync/task_end.hpp"
#include "rt/sync/wait.hpp"
#include "rt/thread.hpp"

namespace plx {
namespace detail {

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

void yield_now() { yield_task(); }

const void* current_task_id() noexcept {
  if (const worker* w = this_worker()) return w->task_id;
  thread_local const char mine = 0;
  return &mine;
}

// ---------------------------------------------------------------------- at the end of a task

namespace {

void run_newer(at_task_end*& newest, const at_task_end* older) noexcept {
  while (newest != older) {
    at_task_end* action = std::exchange(newest, newest->next);
    action->run(action);
  }
}

struct actions_of_thread {
  at_task_end* newest = nullptr;
  ~actions_of_thread() { run_newer(newest, nullptr); }
};

// Never inlined: between two calls the task may have moved to another thread.
[[gnu::noinline]] at_task_end*& newest_of_caller() noexcept {
  if (worker* w = this_worker()) return w->at_end;
  thread_local actions_of_thread of_thread;
  return of_thread.newest;
}

}  // namespace

void run_at_task_end(at_task_end& action) noexcept {
  task_end_used.store(true, std::memory_order_relaxed);
  at_task_end*& newest = newest_of_caller();
  action.next = newest;
  newest = &action;
}

at_task_end* newest_at_task_end() noexcept { return newest_of_caller(); }

void run_task_end(at_task_end* older) noexcept {
  // The list is looked up again for each action: an action may let other tasks run, and this task may change worker.
  for (;;) {
    at_task_end*& newest = newest_of_caller();
    if (newest == older) return;
    at_task_end* action = std::exchange(newest, newest->next);
    action->run(action);
  }
}

result_at_task_end::result_at_task_end(future_state_base& s) : action_(new action) {
  action_->state = &s;
  action_->run = [](at_task_end* a) noexcept {
    auto* self = static_cast<action*>(a);
    if (self->error != nullptr)
      self->state->complete_with(std::move(self->error));
    else
      self->state->complete();
    self->state->release();
    delete self;
  };
}

result_at_task_end::~result_at_task_end() { delete action_; }

void result_at_task_end::arrange(std::exception_ptr error) noexcept {
  action_->error = std::move(error);
  action_->state->add_ref();
  run_at_task_end(*std::exchange(action_, nullptr));
}

}  // namespace detail

unsigned thread::hardware_concurrency() noexcept {
  if (const detail::scheduler* s = detail::find_current_scheduler()) return s->worker_count();
  try {
    return detail::default_worker_count(detail::allowed_cores().size());
  } catch (...) {
    return 0;  // as std::thread does if the number is unknown
  }
}

void thread::check_joinable(bool by_another) const {
  if (!joinable()) throw std::system_error(std::make_error_code(std::errc::invalid_argument));
  if (by_another && id_ == this_thread::get_id())
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur));
}

void notify_all_at_thread_exit(condition_variable& condition, std::unique_lock<mutex> lock) {
  struct notification : detail::at_task_end {
    notification(condition_variable& c, std::unique_lock<mutex>&& l) noexcept : condition(&c), lock(std::move(l)) {}
    condition_variable* condition;
    std::unique_lock<mutex> lock;
  };
  auto* n = new notification(condition, std::move(lock));
  n->run = [](detail::at_task_end* a) noexcept {
    auto* self = static_cast<notification*>(a);
    self->lock.unlock();
    self->condition->notify_all();
    delete self;
  };
  detail::run_at_task_end(*n);
}

}  // namespace plx
