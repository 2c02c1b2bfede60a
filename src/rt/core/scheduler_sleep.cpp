// Sleeping, waking and parking of workers.
#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>

#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::detail {

bool scheduler::membarrier_available() noexcept {
#if defined(__linux__) && defined(SYS_membarrier)
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}

void scheduler::heavy_fence() noexcept {
#if defined(__linux__) && defined(SYS_membarrier)
  if (!needs_fence_) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    return;
  }
#endif
  n_sleeping_.fetch_add(0, std::memory_order_seq_cst);
  full_fence();
}

// One searching worker is enough: when it finds something, it wakes the next one. The waker relies on it only after a
// read-modify-write on n_searching_. The last searcher leaves with another one; if that comes later, it sees the work.
void scheduler::wake_for_work() noexcept {
  if (n_searching_.load(std::memory_order_relaxed) == 0 || n_searching_.fetch_add(0, std::memory_order_acq_rel) == 0)
    wake_one();
}

void scheduler::wake_one() noexcept {
  worker* w = nullptr;
  {
    spin_guard guard(sleep_lock_);
    if (sleeping_.empty()) return;
    // Wake the worker with the latest deadline, so that another one still watches the timers; break ties by the one
    // that fell asleep last.
    auto chosen = sleeping_.begin();
    for (auto it = chosen + 1; it != sleeping_.end(); ++it)
      if ((*it)->sleeps_until >= (*chosen)->sleeps_until) chosen = it;
    w = *chosen;
    sleeping_.erase(chosen);
    sleepers_changed();
  }
  w->sleep.wake();
}

void scheduler::wake(worker& w) noexcept {
  {
    spin_guard guard(sleep_lock_);
    const auto it = std::find(sleeping_.begin(), sleeping_.end(), &w);
    if (it != sleeping_.end()) {
      sleeping_.erase(it);
      sleepers_changed();
    } else if (!unpark(w)) {
      return;
    }
  }
  w.sleep.wake();
}

void scheduler::sleepers_changed() noexcept {
  ticks earliest = timer_queue::never;
  for (const worker* w : sleeping_) earliest = std::min(earliest, w->sleeps_until);
  next_wake_.store(earliest, std::memory_order_relaxed);
  n_sleeping_.store(static_cast<unsigned>(sleeping_.size()), std::memory_order_release);
}

// From here on no worker relies on this worker's naps; work of those that did is visible (pairs with light_fence()).
void scheduler::stop_watching() noexcept {
  {
    spin_guard guard(sleep_lock_);
    watcher_.store(nullptr, std::memory_order_relaxed);
    watched_.store(false, std::memory_order_relaxed);
  }
  heavy_fence();
}

// True when there is work that should keep `w` awake. A single task may be left to the watcher.
bool scheduler::worth_staying(const worker& w) const noexcept {
  if (!injected_.empty() || !high_.empty() || !low_.empty() || !w.inbox.empty()) return true;
  const std::int64_t left_alone = watched_.load(std::memory_order_relaxed) ? 1 : 0;
  return std::any_of(workers_.begin(), workers_.end(),
                     [left_alone](const auto& v) { return v->deque.size() > left_alone; });
}

// Two-phase sleep. Invariant: a worker on `sleeping_` has checked for work after its entry became visible. A thread
// that adds work reads n_sleeping_ after the work became visible. The pair of fences guarantees that the sleeper sees
// the work or the adder sees the sleeper.
//
// While other workers run tasks, one of the sleepers is the watcher: it takes naps and checks for work after each. A
// worker that adds a single task, which it mostly runs inline itself, then wakes no worker; otherwise a task that
// creates tasks and waits for each would wake a worker for every one of them. `watched_` is set before the watcher's
// first nap, and cleared before it runs tasks or sleeps without a nap, each time followed by a heavy fence and a check
// for work.
//
// Returns true when the worker woke by itself.
bool scheduler::sleep_until_work(worker& w, ticks close_nap) {
  bool naps = false;
  {
    spin_guard guard(sleep_lock_);
    const bool others_work = sleeping_.size() + parked_.size() + 1 < workers_.size();
    worker* watcher = watcher_.load(std::memory_order_relaxed);
    if (watcher == nullptr && others_work) w.nap = spans_.shortest_nap;
    if (watcher == nullptr || watcher == &w) watcher_.store(others_work ? &w : nullptr, std::memory_order_relaxed);
    naps = watcher_.load(std::memory_order_relaxed) == &w;
    if (naps || watcher == &w) watched_.store(naps, std::memory_order_relaxed);
    w.sleeps_until = timer_queue::never;
    sleeping_.push_back(&w);
    sleepers_changed();
  }
  // A worker that naps sees missed work after the nap.
  if (naps || close_nap != 0)
    full_fence();
  else
    heavy_fence();
  if (!worth_staying(w) && !stop_.load(std::memory_order_seq_cst) && sleep_as_listed(w, naps, close_nap)) return false;
  bool still_listed = false;
  {
    spin_guard guard(sleep_lock_);
    const auto it = std::find(sleeping_.begin(), sleeping_.end(), &w);
    still_listed = it != sleeping_.end();
    if (still_listed) {
      sleeping_.erase(it);
      sleepers_changed();
    }
  }
  if (!still_listed) w.sleep.wait();  // another thread took this worker off the list and is about to wake it
  return still_listed;
}

// Returns true when another thread took this worker off the list, false when it woke by itself.
bool scheduler::sleep_as_listed(worker& w, bool naps, ticks close_nap) {
  ticks until = earliest_deadline();
  if (polls_pending_.load(std::memory_order_relaxed)) until = std::min(until, now_ticks() + spans_.poll);
  if (naps) {
    until = std::min(until, now_ticks() + w.nap);
    w.nap = std::min(2 * w.nap, spans_.longest_nap);
  }
  if (close_nap != 0) until = std::min(until, now_ticks() + close_nap);
  if (until == timer_queue::never) {
    w.sleeps.add();
    w.sleep.wait();
    return true;
  }
  {
    spin_guard guard(sleep_lock_);
    w.sleeps_until = until;
    sleepers_changed();
  }
  const ticks now = now_ticks();
  if (until <= now) return false;
  w.sleeps.add();
  if (close_nap != 0) return nap_closely(w, until - now);
  return w.sleep.wait_for(static_cast<std::int64_t>(std::min(seconds(until - now), 3600.0) * 1e9));
}

bool scheduler::nap_closely(worker& w, ticks nap) {
  const ticks begin = now_ticks();
  const bool sharp_before = sleep_sharply(true);
  const bool woken = w.sleep.wait_for(static_cast<std::int64_t>(seconds(nap) * 1e9));
  sleep_sharply(sharp_before);
  if (woken) return true;
  const ticks late = std::min(now_ticks() - begin - std::min(now_ticks() - begin, nap), spans_.longest_nap);
  const ticks mean = nap_lateness_.load(std::memory_order_relaxed);
  nap_lateness_.store(mean - mean / 8 + late / 8, std::memory_order_relaxed);
  return false;
}

// True when a timer or a pending poll needs a worker before the first sleeper wakes.
bool scheduler::sleepers_miss_something() const noexcept {
  const ticks next_wake = next_wake_.load(std::memory_order_relaxed);
  return earliest_deadline() < next_wake ||
         (polls_pending_.load(std::memory_order_relaxed) && now_ticks() + spans_.poll < next_wake);
}

// -------------------------------------------------------------------------- parked workers

// Parked workers: those above the cap, which run only tasks pinned to them and sleep otherwise.
//
// Invariants. A worker on `parked_` is not on `sleeping_`: ordinary work never wakes it, and no submitter relies on it.
// It checks its inbox and `stop_` after its entry on `parked_` is visible; a thread that changes one of them reads
// `parked_` after the change. The cap changes under the lock of both lists. Tasks in a parked worker's deque are found
// like those of any worker that is busy for long: sleepers check all deques before they sleep, and a worker that leaves
// its search to be parked wakes another one if there is work (the end of search()).

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
  const auto fit = std::find_if(parked_.begin(), parked_.end(), [this](const worker* w) { return !above_cap(*w); });
  if (fit != parked_.end()) {
    worker* w = *fit;
    unpark(*w);
    return w;
  }
  const auto it = std::find_if(sleeping_.begin(), sleeping_.end(), [this](const worker* w) { return above_cap(*w); });
  if (it == sleeping_.end()) return nullptr;
  worker* w = *it;
  sleeping_.erase(it);
  sleepers_changed();
  return w;
}

/// Requires: sleep_lock_ is held. False if `w` is not listed: another thread has removed it and is about to wake it.
bool scheduler::unpark(const worker& w) noexcept {
  const auto it = std::find(parked_.begin(), parked_.end(), &w);
  if (it == parked_.end()) return false;
  parked_.erase(it);
  n_parked_.store(static_cast<unsigned>(parked_.size()), std::memory_order_relaxed);
  return true;
}

/// Wakes all parked workers; called at the end, after stop_ is set.
void scheduler::unpark_all() noexcept {
  for (;;) {
    worker* w = nullptr;
    {
      spin_guard guard(sleep_lock_);
      if (parked_.empty()) return;
      w = parked_.back();
      unpark(*w);
    }
    w->sleep.wake();
  }
}

// Returns a task pinned to this worker, or null when it is no longer parked.
task* scheduler::next_task_while_parked(worker& w) {
  w.next_check = 0;  // the worker returns here after each task
  const ticks begin = now_ticks();
  task* t = nullptr;
  while (above_cap(w) && !stop_.load(std::memory_order_relaxed)) {
    t = w.inbox.pop();
    if (t != nullptr) break;
    w.log->sleeps(begin, w.log->background_time(), true);
    park(w);
  }
  end_idling(w, begin, now_ticks(), w.log->background_time());
  return t;
}

void scheduler::park(worker& w) {
  {
    spin_guard guard(sleep_lock_);
    if (!above_cap(w)) return;
    parked_.push_back(&w);
    n_parked_.store(static_cast<unsigned>(parked_.size()), std::memory_order_relaxed);
  }
  full_fence();  // pairs with place(): it sees this worker on parked_, or this worker sees the task
  if (w.inbox.empty() && !stop_.load(std::memory_order_seq_cst)) {
    w.sleeps.add();
    return w.sleep.wait();
  }
  {
    spin_guard guard(sleep_lock_);
    if (unpark(w)) return;
  }
  w.sleep.wait();
}

}  // namespace plx::detail
