#include "rt/task_group.hpp"

#include "rt/core/parker.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/measure/origin.hpp"

namespace plx {

using detail::worker;

// A task keeps its identity on whichever worker it resumes. Code between tasks (pollers) cannot be a parent.
[[gnu::noinline]] bool task_group::called_by_parent() noexcept {
  const worker* w = detail::worker_of_this_thread;
  const void* caller = nullptr;
  if (w == nullptr)
    caller = &detail::this_thread_parker();
  else if (w->in_task && !w->polling)
    caller = w->task_id;
  if (caller == nullptr) return false;
  if (parent_ == nullptr) parent_ = caller;
  return parent_ == caller;
}

void task_group::wait_for_children() {
  std::int64_t ran_inline = 0;
  worker* w = detail::this_worker();
  if (w != nullptr && !(w->home.deterministic() && w->home.choose(2) == 0)) {
    // The last child is on top of the worker's deque, unless it was stolen, the parent has moved to another worker, or
    // a woken task is above it. Other tasks are put back: no unrelated task runs on top of a waiting one.
    // A negative count: children of children, perhaps in this deque.
    while (ran_inline < spawned_ || finished_elsewhere_.load(std::memory_order_relaxed) < 0) {
      w = detail::pass_boundary(w);
      if (detail::low_in(w->current->memory)) break;  // the parent suspends, and the children get their own stacks
      detail::task* t = w->deque.pop();
      if (t == nullptr) break;
      if (t->owner != this) {
        w->home.put_back(*w, t);
        break;
      }
      detail::run_inline(*w, t);
      ++ran_inline;
      w = detail::this_worker();
    }
  }
  const std::int64_t elsewhere = std::exchange(spawned_, 0) - ran_inline;
  if (w != nullptr && w->free_fibers == nullptr) [[unlikely]]
    wait_without_stack(elsewhere);
  used_ = 0;
  // acquire: pairs with the release of the last child; the children's effects are visible.
  if (finished_elsewhere_.load(std::memory_order_acquire) != elsewhere) wait_elsewhere(elsewhere);
  parent_ = nullptr;
  if (finished_elsewhere_.load(std::memory_order_relaxed) != 0) finished_elsewhere_.store(0, std::memory_order_relaxed);
  if (ended_ != nullptr) [[unlikely]]
    detail::note_inputs_taken(ended_);
}

// A parent must wait for its children even if there is no memory for a stack to switch to: they are in its frame.
void task_group::wait_without_stack(std::int64_t expected) {
  for (;;) {
    worker& w = *detail::this_worker();
    if (w.home.reserve_loop_fiber(w)) return;
    if (finished_elsewhere_.load(std::memory_order_acquire) == expected) return;
    detail::let_another_run();
  }
}

void task_group::wait_elsewhere(std::int64_t expected) {
  struct request {
    task_group* group;
    std::int64_t expected;
    // True if all children have ended in the meantime.
    bool announce() const {
      return group->finished_elsewhere_.fetch_add(announced - expected, std::memory_order_acq_rel) == expected;
    }
  } me{this, expected};
  if (worker* w = detail::this_worker()) {
    waiting_ = w->current;
    waiting_is_thread_ = false;
    waits_at_ = stays_ ? w : nullptr;
    detail::wait_reason why("task_group", this);
    why.for_tasks_of = true;
    detail::suspend(
        why,
        [](void* p) {
          const request r = *static_cast<request*>(p);
          auto* parent = static_cast<detail::fiber*>(r.group->waiting_);
          if (r.announce()) detail::resume(*parent);
        },
        &me);
  } else {
    waiting_ = &detail::this_thread_parker();
    waiting_is_thread_ = true;
    if (!me.announce()) detail::this_thread_parker().wait();
  }
}

void task_group::one_finished_elsewhere() noexcept {
  if (detail::origins_wanted()) [[unlikely]]
    detail::note_input(ended_, false);
  // acq_rel: releases the child's effects to the parent, and acquires waiting_ from it when the parent has announced
  // itself.
  if (finished_elsewhere_.fetch_add(1, std::memory_order_acq_rel) + 1 != announced) return;
  // The parent waits until this call, and only the last child sees this value.
  if (waiting_is_thread_)
    static_cast<detail::parker*>(waiting_)->wake();
  else
    wake_parent(*static_cast<detail::fiber*>(waiting_));
}

// By default on the worker of the last child, whose results are in its cache.
void task_group::wake_parent(detail::fiber& parent) {
  const worker* here = detail::this_worker();
  if (waits_at_ != nullptr && here != nullptr && &here->home == &waits_at_->home)
    waits_at_->home.hand_over(parent, *waits_at_);
  else
    detail::resume(parent);
}

void task_group::keep(std::exception_ptr e) noexcept {
  // Only the first one is kept; `failed_` is read by the parent after the children's counts have ordered it.
  if (!failed_.exchange(true, std::memory_order_acq_rel)) error_ = std::move(e);
}

void task_group::rethrow() {
  failed_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace plx
