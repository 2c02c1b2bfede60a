// Where work waits, who looks for it, and who sleeps for want of it.
#include <sched.h>

#include <algorithm>

#include "probe/recorder.hpp"
#include "rt/detail/scheduler.hpp"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace plx::detail {

bool scheduler::membarrier_available() noexcept {
#if defined(__linux__) && defined(SYS_membarrier)
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}

void scheduler::light_fence() const noexcept {
  // The store of the new task must come before the loads of n_sleeping_ and n_searching_. The sleeper's membarrier
  // enforces that on every running thread, so here only the compiler needs to be held.
  if (needs_fence_)
    full_fence();
  else
    std::atomic_signal_fence(std::memory_order_seq_cst);
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

void scheduler::submit(task* t) {
  if (!t->info.where.ordinary()) [[unlikely]]
    return place(t);
  worker* w = this_worker();
  if (w == nullptr || &w->home != this) return inject(t);
  w->deque.push(t);
  w->spawned.add();
  light_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_for_work();
}

// Placed tasks never lie in a deque: there their waiter would take them back, or a thief of any kind.
void scheduler::place(task* t) {
  const task_placement where = t->info.where;
  if (where.worker != 0) {
    worker& w = *workers_[(where.worker - 1u) % workers_.size()];
    w.inbox.push(t);
    full_fence();
    if (n_sleeping_.load(std::memory_order_seq_cst) != 0) wake(w);
    return;
  }
  (where.priority == priority::high ? high_ : where.priority == priority::low ? low_ : injected_).push(t);
  full_fence();
  if (n_sleeping_.load(std::memory_order_seq_cst) != 0) wake_for_work();
}

// One searching worker is enough: when it finds something, it wakes the next one. But it is counted on only after a
// read-modify-write on the word that the last one leaves by another: if that one is later, it sees the work.
void scheduler::wake_for_work() noexcept {
  if (n_searching_.load(std::memory_order_relaxed) == 0 || n_searching_.fetch_add(0, std::memory_order_acq_rel) == 0)
    wake_one();
}

// An urgent task that yields lets everybody go first; a pinned or a low one keeps its place.
void scheduler::submit_last(fiber& f) {
  f.resume.info = f.info;
  const task_placement where = f.info.where;
  if (where.worker != 0 || where.priority == priority::low)
    place(&f.resume);
  else
    inject(&f.resume);
}

void scheduler::inject(task* t) {
  injected_.push(t);
  full_fence();
  if (n_sleeping_.load(std::memory_order_seq_cst) != 0) wake_for_work();
}

void scheduler::wake_one() noexcept {
  worker* w = nullptr;
  {
    spin_guard guard(sleep_lock_);
    if (sleeping_.empty()) return;
    // Who would sleep longest, so that somebody goes on watching the timers; of equal ones who lay down last.
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
    if (it == sleeping_.end()) return;
    sleeping_.erase(it);
    sleepers_changed();
  }
  w.sleep.wake();
}

void scheduler::sleepers_changed() noexcept {
  ticks earliest = timer_queue::never;
  for (const worker* w : sleeping_) earliest = std::min(earliest, w->sleeps_until);
  next_wake_.store(earliest, std::memory_order_relaxed);
  n_sleeping_.store(static_cast<unsigned>(sleeping_.size()), std::memory_order_release);
}

// --------------------------------------------------------------------------------------------------- finding work

task* scheduler::next_task(worker& w) {
  if (deterministic_) return next_task_chosen(w);
  if (w.boundary >= w.next_check) [[unlikely]] {
    w.next_check = w.boundary + spans_.check;
    fire_timers(w.boundary);
    run_pollers(w);
  }
  if (task* t = take_placed(w)) return t;
  // Tasks that keep waking each other must not starve what came from outside, nor what lies at the deque's old end.
  if ((++w.turn & 63u) == 0) [[unlikely]] {
    if (task* t = (w.turn & 64u) != 0 ? injected_.pop() : w.deque.steal()) return t;
  }
  if (task* t = w.deque.pop()) return t;
  if (task* t = injected_.pop()) return t;
  return search(w);
}

// What goes before the deque. A worker whose inbox is never empty still sees the urgent ones, and the other way round.
task* scheduler::take_placed(worker& w) noexcept {
  if (high_.empty() && w.inbox.empty()) [[likely]]
    return nullptr;
  if (task* t = (w.turn & 1u) != 0 ? w.inbox.pop() : high_.pop()) return t;
  return (w.turn & 1u) != 0 ? high_.pop() : w.inbox.pop();
}

// A single task is left to its owner for a moment: most likely the owner made it a moment ago and takes it back at
// once, and then stealing it makes both wait.
static bool may_steal(worker& thief, const worker& victim, ticks now, ticks patience) noexcept {
  const std::int64_t size = victim.deque.size();
  if (size != 1) return size > 1;
  auto& seen = thief.singles[victim.index];
  const std::int64_t oldest = victim.deque.oldest();
  if (seen.oldest == oldest) return now - seen.since >= patience;
  seen = {oldest, now};
  return false;
}

// The nearest workers first; among equally near ones from a random one on.
task* scheduler::steal(worker& w, ticks now) noexcept {
  unsigned begin = 0;
  for (const unsigned end : w.groups) {
    w.rng ^= w.rng << 13, w.rng ^= w.rng >> 7, w.rng ^= w.rng << 17;
    unsigned at = begin + static_cast<unsigned>(w.rng % (end - begin));
    for (unsigned i = begin; i < end; ++i, at = at + 1 == end ? begin : at + 1) {
      worker& victim = *workers_[w.victims[at]];
      if (!may_steal(w, victim, now, spans_.patience)) continue;
      if (task* t = victim.deque.steal()) {
        w.steals.add();
        return t;
      }
      w.failed_steals.add();
    }
    begin = end;
  }
  return nullptr;
}

task* scheduler::search(worker& w) {
  const ticks begin = now_ticks();
  ticks spin_begin = begin;
  n_searching_.fetch_add(1, std::memory_order_seq_cst);
  task* found = nullptr;
  for (;;) {
    const ticks now = now_ticks();
    found = take_placed(w);
    if (found == nullptr) found = steal(w, now);
    if (found == nullptr) found = injected_.pop();
    if (found == nullptr) found = low_.pop();
    if (found == nullptr && (fire_timers(now) != 0 || run_pollers(w))) found = w.deque.pop();
    if (found != nullptr || stop_.load(std::memory_order_relaxed)) break;
    if (now - spin_begin < spans_.spin) {
      // Each look takes the victims' cache lines away from them, so the looks become rarer. With more workers than
      // processors, the one with the work may need this one.
      const ticks until = now + std::clamp((now - spin_begin) / 2, spans_.shortest_pause, spans_.longest_pause);
      if (now - spin_begin > spans_.spin / 4) sched_yield();
      while (now_ticks() < until) cpu_relax();
    } else {
      n_searching_.fetch_sub(1, std::memory_order_seq_cst);
      sleep_until_work(w);
      n_searching_.fetch_add(1, std::memory_order_seq_cst);
      spin_begin = now_ticks();
    }
  }
  // acq_rel: pairs with wake_for_work(). Whoever counted on this worker's search has made the work visible here.
  if (n_searching_.fetch_sub(1, std::memory_order_acq_rel) == 1 && n_sleeping_.load(std::memory_order_relaxed) != 0 &&
      (any_work() || sleepers_miss_something()))
    wake_one();
  w.boundary = now_ticks();
  if (w.boundary - begin < spans_.idle)
    w.log->overhead(w.boundary - begin);
  else
    w.log->idle(begin, w.boundary);
  return found;
}

bool scheduler::any_but_low() const noexcept {
  if (!injected_.empty() || !high_.empty()) return true;
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return !w->deque.empty(); });
}

bool scheduler::any_inbox() const noexcept {
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return !w->inbox.empty(); });
}

// Two-phase sleep. Invariant: a worker on `sleeping_` has looked for work after its name was there for all to see. Who
// adds work looks at n_sleeping_ after the work is there for all to see. The pair of fences makes that an either-or:
// the sleeper sees the work, or the adder sees the sleeper.
void scheduler::sleep_until_work(worker& w) {
  {
    spin_guard guard(sleep_lock_);
    w.sleeps_until = timer_queue::never;
    sleeping_.push_back(&w);
    sleepers_changed();
  }
  heavy_fence();
  if (!any_work() && w.inbox.empty() && !stop_.load(std::memory_order_seq_cst) && sleep_as_listed(w)) return;
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
  if (!still_listed) w.sleep.wait();  // somebody took this worker off the list and its token is on the way
}

// True when somebody took this worker off the list; false when it got up by itself.
bool scheduler::sleep_as_listed(worker& w) {
  ticks until = earliest_deadline();
  if (polls_pending_.load(std::memory_order_relaxed)) until = std::min(until, now_ticks() + spans_.poll);
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
  return w.sleep.wait_for(static_cast<std::int64_t>(std::min(seconds(until - now), 3600.0) * 1e9));
}

// The timers, or what is being polled for, want somebody awake before the first sleeper gets up.
bool scheduler::sleepers_miss_something() const noexcept {
  const ticks next_wake = next_wake_.load(std::memory_order_relaxed);
  return earliest_deadline() < next_wake ||
         (polls_pending_.load(std::memory_order_relaxed) && now_ticks() + spans_.poll < next_wake);
}

}  // namespace plx::detail
