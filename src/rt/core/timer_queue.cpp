
#include <sched.h>

#include <utility>

#include "rt/core/spinlock.hpp"
#include "rt/core/timer_queue.hpp"

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace plx::detail {

void timer_queue::arm(timer& t) {
  spin_guard guard(lock_);
  t.queue = this;
  t.state.store(timer::phase::armed, std::memory_order_relaxed);
  heap_.push_back(&t);
  t.index = static_cast<std::uint32_t>(heap_.size() - 1);
  sift_up(t.index);
  next_.store(heap_.front()->deadline, std::memory_order_relaxed);
}

bool timer_queue::cancel(timer& t) noexcept {
  if (t.queue == nullptr) return false;
  {
    spin_guard guard(t.queue->lock_);
    if (t.state.load(std::memory_order_relaxed) == timer::phase::armed) {
      t.queue->remove(t.index);
      t.state.store(timer::phase::done, std::memory_order_relaxed);
      return true;
    }
  }
  // acquire: pairs with the release in fire_due(); its callback has touched `t` for the last time.
  for (unsigned i = 0; t.state.load(std::memory_order_acquire) != timer::phase::done; ++i) {
    if (i < 100)
      cpu_relax();
    else
      sched_yield();  // the worker that runs the callback may have been preempted
  }
  return false;
}

unsigned timer_queue::fire_due(ticks now) {
  unsigned fired = 0;
  while (next_deadline() <= now) {
    timer* t = nullptr;
    {
      spin_guard guard(lock_);
      if (heap_.empty() || heap_.front()->deadline > now) break;
      t = heap_.front();
      t->state.store(timer::phase::firing, std::memory_order_relaxed);
      remove(0);
    }
    t->fire(t->context);
    t->state.store(timer::phase::done, std::memory_order_release);  // pairs with the acquire in cancel()
    ++fired;
  }
  return fired;
}

void timer_queue::place(std::uint32_t i, timer* t) noexcept {
  heap_[i] = t;
  t->index = i;
}

void timer_queue::sift_up(std::uint32_t i) noexcept {
  timer* t = heap_[i];
  for (; i > 0 && t->deadline < heap_[(i - 1) / 2]->deadline; i = (i - 1) / 2) place(i, heap_[(i - 1) / 2]);
  place(i, t);
}

void timer_queue::sift_down(std::uint32_t i) noexcept {
  timer* t = heap_[i];
  const auto n = static_cast<std::uint32_t>(heap_.size());
  for (std::uint32_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && heap_[child + 1]->deadline < heap_[child]->deadline) ++child;
    if (t->deadline <= heap_[child]->deadline) break;
    place(i, heap_[child]);
  }
  place(i, t);
}

void timer_queue::remove(std::uint32_t i) noexcept {
  timer* last = heap_.back();
  heap_.pop_back();
  if (i < heap_.size()) {
    place(i, last);
    sift_down(i);
    sift_up(last->index);
  }
  next_.store(heap_.empty() ? never : heap_.front()->deadline, std::memory_order_relaxed);
}

bool sleep_sharply(bool sharply) noexcept {
  thread_local bool sharp = false;
  if (sharply == sharp) [[likely]]
    return sharp;
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, sharply ? 1ul : 0ul);  // nanoseconds; 0: the thread's initial value
#endif
  return std::exchange(sharp, sharply);
}

}  // namespace plx::detail
