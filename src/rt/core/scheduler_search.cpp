// Submitting, finding and stealing tasks; sleeping and waking of workers.
#include <sched.h>

#include <algorithm>
#include <array>

#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/core/timer_queue.hpp"
#include "rt/core/worker_loop.hpp"
#include "rt/measure/origin.hpp"

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

[[gnu::noinline]] void scheduler::submit(task* t, meant_for who) {
  worker* w = worker_of_this_thread;
  if (w == nullptr || &w->home != this) [[unlikely]]
    return submit_from_outside(t);
  if (t->from != nullptr || probe::wanted.load(std::memory_order_relaxed) != 0 || w->spawned.get() % ready_sample == 0)
      [[unlikely]]
    note_ready(w, *t);
  if (!t->info.where.ordinary()) [[unlikely]]
    return place(t);
  w->deque.push(t);
  if (who == meant_for::thieves) w->deque.offer_all();
  w->spawned.add();
  light_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    if (who != meant_for::anyone || !watched_.load(std::memory_order_relaxed) || w->deque.size() > 1) wake_for_work();
  }
}

void scheduler::put_back(worker& w, task* t) {
  w.deque.push(t);
  light_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0 &&
      (!watched_.load(std::memory_order_relaxed) || w.deque.size() > 1)) [[unlikely]]
    wake_for_work();
}

// The task may be all that keeps this scheduler alive. It may end as soon as it is visible; stop() then waits for the
// submitting thread.
void scheduler::submit_from_outside(task* t) {
  begin_visit();
  if (origins_wanted()) note_ready(this_worker(), *t);
  if (t->info.where.ordinary())
    inject(t);
  else
    place(t);
  end_visit();
}

// Placed tasks are never in a deque: there their waiter could run them inline, or any thief could steal them.
void scheduler::place(task* t) {
  const task_placement where = t->info.where;
  if (where.worker != 0) {
    worker& w = *workers_[(where.worker - 1u) % workers_.size()];
    w.inbox.push(t);
    full_fence();
    if (n_sleeping_.load(std::memory_order_seq_cst) != 0 || n_benched_.load(std::memory_order_seq_cst) != 0) wake(w);
    return;
  }
  (where.priority == priority::high ? high_ : where.priority == priority::low ? low_ : injected_).push(t);
  full_fence();
  if (n_sleeping_.load(std::memory_order_seq_cst) != 0) wake_for_work();
}

// One searching worker is enough: when it finds something, it wakes the next one. The waker relies on it only after a
// read-modify-write on n_searching_. The last searcher leaves with another one; if that comes later, it sees the work.
void scheduler::wake_for_work() noexcept {
  if (n_searching_.load(std::memory_order_relaxed) == 0 || n_searching_.fetch_add(0, std::memory_order_acq_rel) == 0)
    wake_one();
}

// An urgent task that yields goes behind all ready tasks; a pinned or low-priority one keeps its placement.
void scheduler::submit_last(fiber& f) {
  f.resume.info.where = f.info.where;
  if (origins_wanted()) note_ready(this_worker(), f.resume);
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
    // Wake the worker with the latest deadline, so that another one still watches the timers; break ties by the most
    // recently parked.
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
    } else if (!leave_bench(w)) {
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

// --------------------------------------------------------------------------------------------------- finding work

task* scheduler::next_task(worker& w) {
  if (deterministic_) return next_task_chosen(w);
  for (;;) {
    if (w.boundary >= w.next_check) [[unlikely]] {
      w.next_check = w.boundary + spans_.check;
      fire_timers(w.boundary);
      run_pollers(w);
      if (benched(w)) [[unlikely]]
        if (task* t = next_task_on_bench(w)) return t;
    }
    if (task* t = take_placed(w)) return t;
    // Tasks that keep waking each other must not starve injected tasks or the oldest tasks of the deque.
    if ((++w.turn & 63u) == 0) [[unlikely]] {
      if (task* t = (w.turn & 64u) != 0 ? injected_.pop() : w.deque.steal()) return t;
    }
    if (task* t = w.deque.pop()) return t;
    if (task* t = take_injected(w)) return t;
    if (task* t = search(w)) return t;
    if (stop_.load(std::memory_order_relaxed)) return nullptr;
    w.next_check = 0;  // the cap has fallen below this worker
  }
}

// Takes a worker's share of the injection queue, at most 16 tasks: returns the oldest and puts the others into the
// worker's own deque, the oldest on top. One locking serves several tasks, and thieves find the rest.
task* scheduler::take_injected(worker& w) noexcept {
  constexpr std::size_t most = 16;
  task* first = injected_.pop_some(std::clamp(injected_.size() / workers_.size(), std::size_t{1}, most));
  if (first == nullptr || first->next == nullptr) return first;
  std::array<task*, most> rest;
  std::size_t n = 0;
  for (task* t = first->next; t != nullptr; t = t->next) rest[n++] = t;
  while (n > 0) w.deque.push(rest[--n]);
  light_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0) wake_for_work();
  return first;
}

task* scheduler::next_resumed(worker& w) noexcept {
  const bool plain = !deterministic_ && w.boundary < w.next_check && high_.empty() && w.inbox.empty();
  if (!plain || ((w.turn + 1) & 63u) == 0) return nullptr;
  ++w.turn;
  return w.deque.pop();
}

// Tasks that precede the deque. Alternates between inbox and urgent queue, so that neither starves the other.
task* scheduler::take_placed(worker& w) noexcept {
  if (high_.empty() && w.inbox.empty()) [[likely]]
    return nullptr;
  if (task* t = (w.turn & 1u) != 0 ? w.inbox.pop() : high_.pop()) return t;
  return (w.turn & 1u) != 0 ? high_.pop() : w.inbox.pop();
}

// A single task is left to its owner for a moment: most likely the owner has just created it and is about to run it
// inline, and then stealing it makes both wait.
static bool may_steal(worker& thief, const worker& victim, ticks now, ticks patience) noexcept {
  const std::int64_t size = victim.deque.size();
  if (size != 1) return size > 1;
  if (victim.deque.oldest_is_offered()) return true;
  auto& seen = thief.singles[victim.index];
  const std::int64_t oldest = victim.deque.oldest();
  if (seen.oldest == oldest) return now - seen.since >= patience;
  seen = {oldest, now};
  return false;
}

// Steals half of the victim's tasks, so that many small tasks do not cost a search each: returns the oldest and puts
// the others into the thief's own deque.
task* scheduler::take_half(worker& w, worker& victim) noexcept {
  const bool large = victim.deque.oldest_is_offered();  // one is enough: it will be halved again
  task* first = victim.deque.steal();
  if (first == nullptr) {
    w.failed_steals.add();
    return nullptr;
  }
  std::uint64_t taken = 1;
  for (std::int64_t n = large ? 0 : std::min(victim.deque.size() / 2, most_stolen); n > 0; --n, ++taken) {
    task* t = victim.deque.steal();
    if (t == nullptr) break;
    w.deque.push(t);
  }
  w.steals.add(taken);
  return first;
}

// One thief at a time, because each probe takes the cache line away from the owner: with 15 thieves, creating a task
// and having it stolen takes 190 ns, and 345 ns without this lock.
task* scheduler::steal_from(worker& w, worker& victim, ticks now) noexcept {
  // A victim that searches has no tasks. Its flag is written only when a search begins or ends, the lock by every
  // thief.
  if (victim.looks_for_work.load(std::memory_order_relaxed)) return nullptr;
  if (!victim.thief.try_lock()) return nullptr;
  task* t = may_steal(w, victim, now, spans_.patience) ? take_half(w, victim) : nullptr;
  victim.thief.unlock();
  return t;
}

// Tries the nearest workers first; among equally near ones it starts at a random one.
task* scheduler::steal(worker& w, ticks now) noexcept {
  unsigned begin = 0;
  for (const unsigned end : w.groups) {
    w.rng ^= w.rng << 13, w.rng ^= w.rng >> 7, w.rng ^= w.rng << 17;
    unsigned at = begin + static_cast<unsigned>(w.rng % (end - begin));
    for (unsigned i = begin; i < end; ++i, at = at + 1 == end ? begin : at + 1)
      if (task* t = steal_from(w, *workers_[w.victims[at]], now)) return t;
    begin = end;
  }
  return nullptr;
}

// One search round over all queues.
task* scheduler::look_for_work(worker& w, ticks now) {
  if (w.handed.load(std::memory_order_relaxed) != nullptr)
    if (task* t = w.handed.exchange(nullptr, std::memory_order_acquire)) return t;
  if (task* t = take_placed(w)) return t;
  if (task* t = steal(w, now)) return t;
  if (task* t = take_injected(w)) return t;
  if (task* t = low_.pop()) return t;
  return fire_timers(now) != 0 || (!another_polls(w) && run_pollers(w)) ? w.deque.pop() : nullptr;
}

// A task is handed over only while `searching` is set. The giver stores the task, then checks the flag again; the
// receiver clears the flag, then checks for a stored task: at least one sees the other's store.
void scheduler::hand_over(fiber& f, worker& to) {
  f.resume.info.where = f.info.where;
  if (origins_wanted()) note_ready(this_worker(), f.resume);
  task* t = &f.resume;
  task* none = nullptr;
  if (!f.info.where.ordinary() || !to.searching.load(std::memory_order_relaxed)) return resume(f);
  f.ready.store(true, std::memory_order_relaxed);
  // release: pairs with the acquire of the receiver.
  if (!to.handed.compare_exchange_strong(none, t, std::memory_order_release, std::memory_order_relaxed))
    return submit(t);
  full_fence();
  if (to.searching.load(std::memory_order_relaxed)) return;
  if (to.handed.compare_exchange_strong(t, nullptr, std::memory_order_acquire, std::memory_order_relaxed)) submit(t);
}

// Returns a task that was handed over at the last moment, or null.
task* scheduler::stop_searching(worker& w) noexcept {
  w.searching.store(false, std::memory_order_relaxed);
  full_fence();
  return w.handed.load(std::memory_order_relaxed) != nullptr ? w.handed.exchange(nullptr, std::memory_order_acquire)
                                                             : nullptr;
}

// The shortest gap for which a nap pays. Where naps end very late, they serve only waits of about a millisecond.
ticks scheduler::nap_cost() const noexcept {
  return std::min(nap_lateness_.load(std::memory_order_relaxed), spans_.poll);
}

// A deadline too close for a sleep to pay: the operating system wakes sleepers some 40 us late. 0: none.
ticks scheduler::close_deadline(ticks now) const noexcept {
  const ticks at = earliest_deadline();
  return at > now && at - now < spans_.spin ? at : 0;
}

task* scheduler::search(worker& w) {
  const ticks begin = now_ticks();
  const ticks polled_before = w.log->background_time();
  w.searching.store(true, std::memory_order_relaxed);
  w.looks_for_work.store(true, std::memory_order_relaxed);
  ticks spin_begin = begin, spin_end = begin + spans_.spin;
  std::uint64_t progress = w.poller_progress.get();
  n_searching_.fetch_add(1, std::memory_order_seq_cst);
  task* found = nullptr;
  for (;;) {
    ticks now = now_ticks();
    if (benched(w)) [[unlikely]]
      break;
    found = look_for_work(w, now);
    if (found != nullptr || stop_.load(std::memory_order_relaxed)) break;
    // Data that pollers move arrives in parts, each of which may take longer than the spin time: while parts arrive,
    // this worker does not sleep between them.
    if (const std::uint64_t n = w.poller_progress.get(); n != progress) {
      progress = n;
      now = spin_begin = now_ticks();
      spin_end = std::max(spin_end, spin_begin + spans_.spin);
    }
    if (now < spin_end) {
      // Each search round takes cache lines away from the victims, so the pauses between rounds grow. With more workers
      // than CPUs, the worker that has tasks may need this CPU.
      const ticks until = now + std::clamp((now - spin_begin) / 2, spans_.shortest_pause, spans_.longest_pause);
      if (now - spin_begin > spans_.spin / 4) sched_yield();
      found = poll_until(w, until);
      if (found != nullptr) break;
    } else if (const ticks gap = close_gap(w); gap != 0 && gap < nap_cost()) {
      spin_end = now + gap;  // a nap would end too late
    } else {
      found = stop_searching(w);
      if (found != nullptr) break;
      const bool last = n_searching_.fetch_sub(1, std::memory_order_seq_cst) == 1;
      if (const ticks deadline = last ? close_deadline(now) : 0; deadline != 0) {
        spin_end = deadline;  // the last searching worker stays awake for it
      } else {
        w.log->idle_begins(begin, polled_before);
        const ticks nap = std::min(gap, spans_.close_nap);
        const bool got_up = sleep_until_work(w, gap == 0 ? 0 : nap - std::min(nap - 1, nap_cost()));
        spin_begin = now_ticks();
        spin_end = spin_begin + (got_up && (gap != 0 || watcher_ == &w) ? spans_.glance : spans_.spin);
      }
      w.searching.store(true, std::memory_order_relaxed);
      n_searching_.fetch_add(1, std::memory_order_seq_cst);
    }
  }
  if (task* handed = stop_searching(w)) {
    if (found == nullptr)
      found = handed;
    else
      put_back(w, handed);
  }
  const bool watched = watcher_.load(std::memory_order_relaxed) == &w;
  if (watched) stop_watching();
  // acq_rel: pairs with wake_for_work(). Work whose submitter relied on this worker's search is visible here.
  if ((n_searching_.fetch_sub(1, std::memory_order_acq_rel) == 1 || watched) &&
      n_sleeping_.load(std::memory_order_relaxed) != 0 && (any_work() || sleepers_miss_something()))
    wake_one();
  end_idling(w, begin, polled_before);
  w.looks_for_work.store(false, std::memory_order_relaxed);
  return found;
}

// Accounts the time since `begin` without a task, except the time that pollers have accounted.
void scheduler::end_idling(worker& w, ticks begin, ticks polled_before) noexcept {
  w.boundary = std::max(begin, now_ticks());
  const ticks polled = w.log->background_time() - polled_before;
  if (w.boundary - begin < spans_.idle && !w.log->idles())
    w.log->overhead(w.boundary - begin - std::min(polled, w.boundary - begin));
  else
    w.log->idle(begin, w.boundary, polled);
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

bool scheduler::any_but_low() const noexcept {
  if (!injected_.empty() || !high_.empty()) return true;
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return !w->deque.empty(); });
}

bool scheduler::any_inbox() const noexcept {
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return !w->inbox.empty(); });
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
    const bool others_work = sleeping_.size() + bench_.size() + 1 < workers_.size();
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

}  // namespace plx::detail
