#include "rt/sync/task_end.hpp"

#include <mutex>
#include <utility>

#include "rt/core/scheduler.hpp"
#include "rt/future/future_state.hpp"
#include "rt/mutex.hpp"

namespace plx {
namespace detail {
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
