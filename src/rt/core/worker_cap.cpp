// Parked workers: those above the cap, which run only tasks pinned to them and sleep otherwise.
//
// Invariants. A worker on `bench_` is not on `sleeping_`: ordinary work never wakes it, and no submitter relies on it.
// It checks its inbox and `stop_` after its entry on `bench_` is visible; a thread that changes one of them reads
// `bench_` after the change. The cap changes under the lock of both lists. Tasks in a parked worker's deque are found
// like those of any worker that is busy for long: sleepers check all deques before they sleep, and a worker that leaves
// its search to be parked wakes another one if there is work (the end of search()).
#include <algorithm>

#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::detail {

void scheduler::set_worker_cap(unsigned n) noexcept {
  {
    spin_guard guard(sleep_lock_);
    cap_.store(std::clamp(n, 1u, worker_count()), std::memory_order_relaxed);
  }
  while (worker* w = take_misplaced()) w->sleep.wake();
}

// Finds a worker in the wrong list after the cap changed and removes it; the caller must wake it. Wrong are a parked
// worker below the cap, and a sleeping one above it, which would be woken for work that it must not take.
worker* scheduler::take_misplaced() noexcept {
  spin_guard guard(sleep_lock_);
  const auto fit = std::find_if(bench_.begin(), bench_.end(), [this](const worker* w) { return !benched(*w); });
  if (fit != bench_.end()) {
    worker* w = *fit;
    leave_bench(*w);
    return w;
  }
  const auto it = std::find_if(sleeping_.begin(), sleeping_.end(), [this](const worker* w) { return benched(*w); });
  if (it == sleeping_.end()) return nullptr;
  worker* w = *it;
  sleeping_.erase(it);
  sleepers_changed();
  return w;
}

/// Requires: sleep_lock_ is held. False if `w` is not listed: another thread has removed it and is about to wake it.
bool scheduler::leave_bench(const worker& w) noexcept {
  const auto it = std::find(bench_.begin(), bench_.end(), &w);
  if (it == bench_.end()) return false;
  bench_.erase(it);
  n_benched_.store(static_cast<unsigned>(bench_.size()), std::memory_order_relaxed);
  return true;
}

/// Wakes all parked workers; called at the end, after stop_ is set.
void scheduler::empty_bench() noexcept {
  for (;;) {
    worker* w = nullptr;
    {
      spin_guard guard(sleep_lock_);
      if (bench_.empty()) return;
      w = bench_.back();
      leave_bench(*w);
    }
    w->sleep.wake();
  }
}

// Returns a task pinned to this worker, or null when it is no longer parked.
task* scheduler::next_task_on_bench(worker& w) {
  w.next_check = 0;  // the worker returns here after each task
  const ticks begin = now_ticks();
  task* t = nullptr;
  while (benched(w) && !stop_.load(std::memory_order_relaxed)) {
    t = w.inbox.pop();
    if (t != nullptr) break;
    w.log->idle_begins(begin);
    sit_on_bench(w);
  }
  end_idling(w, begin, w.log->background_time());
  return t;
}

void scheduler::sit_on_bench(worker& w) {
  {
    spin_guard guard(sleep_lock_);
    if (!benched(w)) return;
    bench_.push_back(&w);
    n_benched_.store(static_cast<unsigned>(bench_.size()), std::memory_order_relaxed);
  }
  full_fence();  // pairs with place(): it sees this worker on bench_, or this worker sees the task
  if (w.inbox.empty() && !stop_.load(std::memory_order_seq_cst)) {
    w.sleeps.add();
    return w.sleep.wait();
  }
  {
    spin_guard guard(sleep_lock_);
    if (leave_bench(w)) return;
  }
  w.sleep.wait();
}

}  // namespace plx::detail
