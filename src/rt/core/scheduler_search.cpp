// Submitting, finding and stealing tasks. Sleeping is in scheduler_sleep.cpp.
#include <sched.h>

#include <algorithm>
#include <array>

#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/core/timer_queue.hpp"
#include "rt/measure/origin.hpp"

namespace plx::detail {

[[gnu::always_inline]] inline void scheduler::submit_here(worker& w, task* t, meant_for takers) {
  if (t->from != nullptr || probe::wanted.load(std::memory_order_relaxed) != 0 || w.spawned.get() % ready_sample == 0)
      [[unlikely]]
    note_ready(&w, *t);
  if (!t->info.where.ordinary()) [[unlikely]]
    return place(t);
  w.deque.push(t);
  if (takers == meant_for::thieves) w.deque.offer_all();
  w.spawned.add();
  light_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    if (takers != meant_for::anyone || !watched_.load(std::memory_order_relaxed) || w.deque.size() > 1) wake_for_work();
  }
}

[[gnu::noinline]] void scheduler::submit(task* t, meant_for takers) {
  worker* w = worker_of_this_thread;
  if (w == nullptr || &w->home != this) [[unlikely]]
    return submit_from_outside(t);
  submit_here(*w, t, takers);
}

// Every spawn passes here: one read of the thread's worker and no further call.
[[gnu::always_inline]] inline void submit_from_here(task* t, meant_for takers) {
  if (worker* w = worker_of_this_thread) [[likely]]
    return w->home.submit_here(*w, t, takers);
  current_scheduler().submit(t, takers);
}
[[gnu::noinline]] void submit_task(task* t) { submit_from_here(t, meant_for::anyone); }
[[gnu::noinline]] void submit_child(task* t) { submit_from_here(t, meant_for::sleepers); }
[[gnu::noinline]] void offer_task(task* t) { submit_from_here(t, meant_for::thieves); }

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
  if (origins_wanted()) note_ready(this_worker(), *t, false);
  if (workers_.front()->delays != nullptr) [[unlikely]]
    note_ready_outside(*workers_.front(), *t);
  requeue(t);
  end_visit();
}

// Placed tasks are never in a deque: there their waiter could run them inline, or any thief could steal them.
void scheduler::place(task* t) {
  const task_placement where = t->info.where;
  if (where.worker != 0) {
    worker& w = *workers_[(where.worker - 1u) % workers_.size()];
    w.inbox.push(t);
    full_fence();
    if (n_sleeping_.load(std::memory_order_seq_cst) != 0 || n_parked_.load(std::memory_order_seq_cst) != 0) wake(w);
    return;
  }
  (where.priority == priority::high ? high_ : where.priority == priority::low ? low_ : injected_).push(t);
  full_fence();
  if (n_sleeping_.load(std::memory_order_seq_cst) != 0) wake_for_work();
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

// --------------------------------------------------------------------------------------------------- finding work

task* scheduler::next_task(worker& w) {
  if (deterministic_) return next_task_chosen(w);
  for (;;) {
    if (w.boundary >= w.next_check) [[unlikely]] {
      w.next_check = w.boundary + spans_.check;
      fire_timers(w.boundary);
      run_pollers(w);
      if (w.others_first) [[unlikely]]
        if (task* t = take_others(w)) return t;
      if (above_cap(w)) [[unlikely]]
        if (task* t = next_task_while_parked(w)) return t;
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
static bool may_steal(worker& thief, const worker& victim, ticks now, ticks minimum_age) noexcept {
  const std::int64_t size = victim.deque.size();
  if (size != 1) return size > 1;
  if (victim.deque.oldest_is_offered()) return true;
  auto& seen = thief.singles[victim.index];
  const std::int64_t oldest = victim.deque.oldest();
  if (seen.oldest == oldest) return ticks_between(seen.since, now) >= minimum_age;
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

// Takes a task that was handed over to `victim`, see hand_over(), and has lain there for a while: the operating system
// has preempted that worker, or a poller keeps it.
static task* take_late(worker& thief, worker& victim, ticks now, ticks minimum_age) noexcept {
  const task* handed = victim.handed.load(std::memory_order_relaxed);
  if (handed == nullptr) return nullptr;
  auto& seen = thief.singles[victim.index];
  const auto which = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(handed));
  if (seen.oldest != which) seen = {which, now};
  if (ticks_between(seen.since, now) < minimum_age) return nullptr;
  return victim.handed.exchange(nullptr, std::memory_order_acquire);  // pairs with the release in hand_over()
}

// One thief at a time, because each probe takes the cache line away from the owner: with 15 thieves, creating a task
// and having it stolen takes 190 ns, and 345 ns without this lock.
task* scheduler::steal_from(worker& w, worker& victim, ticks now) noexcept {
  // A victim that searches has no tasks of its own. Its flag is written only when a search begins or ends, the lock by
  // every thief.
  if (victim.looks_for_work.load(std::memory_order_relaxed)) return take_late(w, victim, now, spans_.check);
  if (!victim.thief.try_lock()) return nullptr;
  task* t = may_steal(w, victim, now, spans_.minimum_age) ? take_half(w, victim) : nullptr;
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

task* scheduler::try_next_task(worker& w) {
  if (task* t = w.deque.pop()) return t;
  split_slice(w);
  w.in_task = false;  // the work of timers and pollers is not the task's
  task* t = nullptr;
  if (w.others_first) {
    fire_timers(now_ticks());
    run_pollers(w);
    t = take_others(w);
  }
  if (t == nullptr) t = look_for_work(w, now_ticks());
  w.in_task = true;
  return t;
}

void scheduler::requeue(task* t) {
  if (t->info.where.ordinary())
    inject(t);
  else
    place(t);
}

void scheduler::put_off(worker& w, task* t) {
  w.others_first = true;
  w.next_check = 0;  // timers and pollers, too, may resume a task that frees a stack
  requeue(t);
  sched_yield();
}

// The queue of the task that was put off comes last: low-priority and injected tasks would not be found behind it.
task* scheduler::take_others(worker& w) noexcept {
  w.others_first = false;
  if (task* t = w.deque.pop()) return t;
  if (task* t = low_.pop()) return t;
  if (task* t = steal(w, now_ticks())) return t;
  return injected_.pop();
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
  const ticks begin = w.boundary;  // the end of the task before, or of a poll since
  const ticks polled_before = w.log->background_time();
  w.searching.store(true, std::memory_order_relaxed);
  w.looks_for_work.store(true, std::memory_order_relaxed);
  ticks spin_begin = begin, spin_end = begin + spans_.spin;
  std::uint64_t progress = w.poller_progress.get();
  n_searching_.fetch_add(1, std::memory_order_seq_cst);
  task* found = nullptr;
  ticks now = begin;
  for (;; now = now_ticks()) {
    if (above_cap(w)) [[unlikely]]
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
        w.log->sleeps(begin, polled_before);
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
  const bool wakes = (n_searching_.fetch_sub(1, std::memory_order_acq_rel) == 1 || watched) &&
                     n_sleeping_.load(std::memory_order_relaxed) != 0 && (any_work() || sleepers_miss_something());
  if (wakes) wake_one();
  // A poll of the last round has read the clock, and has found the task. System calls since then are not the task's.
  const bool polled = w.boundary > now && !watched && !wakes;
  end_idling(w, begin, polled ? w.boundary : now_ticks(), polled_before);
  w.looks_for_work.store(false, std::memory_order_relaxed);
  return found;
}

// Accounts the time from `begin` to `end` without a task, except the time that pollers have accounted.
void scheduler::end_idling(worker& w, ticks begin, ticks end, ticks polled_before) noexcept {
  w.boundary = std::max(begin, end);
  const ticks polled = w.log->background_time() - polled_before;
  if (w.log->idles()) w.idle_periods.add();
  if (w.boundary - begin < spans_.idle && !w.log->idles())
    w.log->overhead(w.boundary - begin - std::min(polled, w.boundary - begin));
  else
    w.log->idle(begin, w.boundary, polled);
}

bool scheduler::any_but_low() const noexcept {
  if (!injected_.empty() || !high_.empty()) return true;
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return !w->deque.empty(); });
}

bool scheduler::any_inbox() const noexcept {
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return !w->inbox.empty(); });
}

}  // namespace plx::detail
