// The deterministic mode: one thread, and a seed that decides at every choice.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "rt/core/deterministic.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::detail {

std::uint64_t scheduler::choose(std::uint64_t n) noexcept {
  choice_state_ ^= choice_state_ << 13, choice_state_ ^= choice_state_ >> 7, choice_state_ ^= choice_state_ << 17;
  return (choice_state_ * 0x2545f4914f6cdd1du >> 16) % n;
}

// The queue from which the virtual worker takes its next task.
task* scheduler::take_chosen(worker& w) {
  if (above_cap(w)) return w.inbox.pop();
  if (task* t = take_placed(w)) return t;
  const auto n_deques = workers_.size();
  const std::uint64_t source = choose(n_deques + 1);
  if (source == n_deques) {
    if (task* t = injected_.pop()) return t;
  } else if (source == w.index) {
    if (task* t = choose(8) == 0 ? w.deque.steal() : w.deque.pop()) return t;
  } else if (task* t = take_half(w, *workers_[source])) {
    return t;
  }
  return any_but_low() || any_inbox() ? nullptr : low_.pop();
}

ticks scheduler::span_of(double s) const noexcept {
  if (!deterministic_) return ticks_from(s);
  return s > 0 ? static_cast<ticks>(std::llround(s * 1e9)) : 0;
}

// Between two steps. False: the run ends.
bool scheduler::pass_time() {
  if (conductor_ != nullptr) return conductor_->turn(virtual_now_);
  virtual_now_ += choose(64);
  return true;
}

// Advances the time to the next deadline. False: no task can continue.
bool scheduler::nothing_to_do() {
  const bool polled = polls_pending_.load(std::memory_order_relaxed);
  const ticks deadline = earliest_deadline();
  if (conductor_ != nullptr) return conductor_->idle(deadline, polled, virtual_now_);
  if (polled) return true;
  if (deadline == timer_queue::never) return false;
  virtual_now_ = std::max(virtual_now_, deadline);
  return true;
}

// The seed chooses which virtual worker runs next, which queue it takes its task from, and when time passes. A
// conducted scheduler runs its tasks until no runtime can continue, whether its own run is done or not.
task* scheduler::next_task_chosen(worker& asking) {
  fiber* loop = asking.current;
  bool idled = false;
  for (;;) {
    worker& w = *workers_[choose(workers_.size())];
    w.current = loop;
    w.boundary = std::max(w.boundary, asking.boundary);
    set_this_worker(&w);
    if (conductor_ == nullptr && run_done_->load(std::memory_order_acquire)) return nullptr;
    if (!std::exchange(idled, false) && !pass_time()) return nullptr;
    run_pollers(w);
    if (earliest_deadline() <= virtual_now_) fire_timers(virtual_now_);
    if (task* t = take_chosen(w)) return t;
    if (any_work() || any_inbox()) continue;
    if (!nothing_to_do()) return nullptr;
    idled = conductor_ != nullptr;
  }
}

bool scheduler::run_until(const std::atomic<bool>& done) {
  PLX_ASSERT(deterministic_);
  worker* const outer = this_worker();  // of another runtime, whose task waits here
  run_done_ = &done;
  if (conductor_ != nullptr) conductor_->begin(virtual_now_);
  worker& w = *workers_[0];
  set_this_worker(&w);
  const signal_stack for_overflows(explain_overflow_);
  fiber thread_itself;
  fiber_adopt_thread(thread_itself);
  fiber* loop = take_loop_fiber(w);
  for (auto& each : workers_) {
    each->boundary = std::max(each->boundary, now_ticks());
    each->thread_fiber = &thread_itself;
    each->exceptions = exceptions_of_this_thread();
  }
  w.current = loop;
  handled_exceptions of_caller;
  const handled_exceptions none;
  std::memcpy(&of_caller, w.exceptions, sizeof of_caller);
  std::memcpy(w.exceptions, &none, sizeof none);
  fiber_switch(thread_itself, *loop);
  run_after_switch();
  std::memcpy(w.exceptions, &of_caller, sizeof of_caller);
  set_this_worker(outer);
  return done.load(std::memory_order_acquire);
}

}  // namespace plx::detail
