// Timers and pollers.
#include <sched.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/future/future_state.hpp"
#include "rt/measure/origin.hpp"
#include "rt/measure/virtual_delay.hpp"

namespace plx::detail {

// --------------------------------------------------------------------------- a worker's timers

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

// For a trace, a task that the timer resumes is ready since the deadline, even if all workers were busy then.
static void fire(timer& t, ticks now) {
  worker* w = worker_of_this_thread;
  const bool dates_back = origins_wanted() && w != nullptr && !w->in_task && w->end == 0 && !w->home.deterministic();
  if (dates_back) [[unlikely]]
    w->end = std::min(t.deadline, now);
  t.fire(t.context);
  if (dates_back) w->end = 0;
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
    fire(*t, now);
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

// -------------------------------------------------------------------------- of the scheduler

ticks scheduler::earliest_deadline() const noexcept {
  ticks earliest = timer_queue::never;
  for (const auto& w : workers_) earliest = std::min(earliest, w->timers.next_deadline());
  return earliest;
}

unsigned scheduler::fire_timers(ticks now) {
  unsigned fired = 0;
  for (const auto& w : workers_)
    if (w->timers.next_deadline() <= now) fired += w->timers.fire_due(now);
  return fired;
}

// The calling worker is awake now but may be busy at the deadline, so a sleeper has to watch it. Either the sleeper
// sees the new deadline before it sleeps, or its later wake time is seen here (pairs with heavy_fence()).
void scheduler::deadline_changed(ticks deadline) noexcept {
  full_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0 && deadline < next_wake_.load(std::memory_order_relaxed))
    wake_one();
}

std::uint64_t scheduler::add_poller(poll_function f, void* arg, poll_clock_use use) {
  const worker* caller = this_worker();
  PLX_ASSERT((caller == nullptr || !caller->polling) && "a poller must not add or remove pollers");
  std::uint64_t id = 0;
  {
    spin_guard guard(poll_lock_);
    id = next_poller_id_++;
    pollers_.push_back({id, f, arg, use});
    n_pollers_.store(static_cast<unsigned>(pollers_.size()), std::memory_order_relaxed);
  }
  ask_pollers();
  return id;
}

// seq_cst, here and in run_pollers(): either the polling round in progress sees this request, or its result is
// overwritten here.
void scheduler::ask_pollers() noexcept {
  if (n_pollers_.load(std::memory_order_relaxed) == 0) return;  // the last was removed: no poll is pending
  pollers_asked_.store(true);
  polls_pending_.store(true);  // a worker that is about to sleep polls soon
  full_fence();
  wake_for_work();  // a searching worker polls
}

void scheduler::remove_poller(std::uint64_t id) {
  const worker* caller = this_worker();
  PLX_ASSERT((caller == nullptr || !caller->polling) && "a poller must not add or remove pollers");
  spin_guard guard(poll_lock_);
  std::erase_if(pollers_, [id](const poller& p) { return p.id == id; });
  n_pollers_.store(static_cast<unsigned>(pollers_.size()), std::memory_order_relaxed);
  if (pollers_.empty()) polls_pending_.store(false, std::memory_order_relaxed);
}

// Requires: poll_lock_ is held. `begin`: the clock now. In a virtual machine, reading the clock takes as long as
// several atomic instructions, so that one reading serves the scheduler and its poller.
scheduler::poll_outcome scheduler::ask_pollers(worker& w, ticks begin) noexcept {
  bool progressed = false, pending = false;
  w.poller_calls.add(pollers_.size());
  w.polling = true;
  w.poll_clock = begin;
  // Both flags mostly have the right value already, and a store costs twenty times a load. Skipping the store is
  // equivalent to storing the same value: a concurrent ask_pollers() has stored after the load and is either seen below
  // or overwrites the result stored there.
  if (pollers_asked_.load()) pollers_asked_.store(false);
  wanted_gap_ = 0;
  for (const poller& p : pollers_) {
    const poll_result r = p.function(p.arg);
    if (p.use == poll_clock_use::ignores) w.poll_clock = 0;
    progressed |= r == poll_result::progressed;
    pending |= r != poll_result::idle;
  }
  w.polling = false;
  poll_gap_.store(wanted_gap_, std::memory_order_relaxed);
  if (polls_pending_.load() != pending) polls_pending_.store(pending);
  if (pollers_asked_.load()) polls_pending_.store(true);  // requested while they ran: their answers may be out of date
  if (progressed) w.poller_progress.add();
  const ticks end = std::exchange(w.poll_clock, 0);
  return {progressed, end > begin ? end : now_ticks()};  // later than `begin`: poll_for() waits until a time has passed
}

// Accounts the time since `begin` as background work; the next slice begins now. Requires: poll_lock_ is held, so that
// the calls of a removed poller have been accounted.
void scheduler::record_polling(worker& w, ticks begin, ticks now) noexcept {
  w.boundary = std::max(w.boundary, now);
  w.log->background(ticks_between(begin, now));
  w.log->ran_no_task(now);
}

// After poll_lock_ is released. This worker may be busy for long: an idle one has to continue polling.
void scheduler::let_another_poll() noexcept {
  if (polls_pending_.load(std::memory_order_relaxed) && n_sleeping_.load(std::memory_order_relaxed) != 0 &&
      n_searching_.load(std::memory_order_relaxed) == 0 && sleepers_miss_something())
    wake_one();
}

// True when polling should be left to the worker that polled last. While that one searches, it polls more often than
// others could and has the pollers' data in its caches; two workers that poll alternately take the data from each other
// and resume each other's tasks. The operating system may have preempted it, so its calls must advance within 10 us.
bool scheduler::another_polls(const worker& w) const noexcept {
  static const ticks left_alone = ticks_from(10e-6);
  thread_local struct {
    const worker* who = nullptr;
    std::uint64_t calls = 0;
    ticks since = 0;
  } seen;
  const worker* last = last_polled_.load(std::memory_order_relaxed);
  if (last == nullptr || last == &w || !last->searching.load(std::memory_order_relaxed)) return false;
  const std::uint64_t calls = last->poller_calls.get();
  const ticks now = now_ticks();
  if (seen.who != last || seen.calls != calls) seen = {last, calls, now};
  return now - seen.since < left_alone;
}

// The gap after which `w`, if it polled last, should poll again; 0: none was requested, or another worker polled last.
ticks scheduler::close_gap(const worker& w) const noexcept {
  if (!polls_pending_.load(std::memory_order_relaxed) || last_polled_.load(std::memory_order_relaxed) != &w) return 0;
  return poll_gap_.load(std::memory_order_relaxed);
}

bool scheduler::run_pollers(worker& w, ticks begin) {
  if (n_pollers_.load(std::memory_order_relaxed) == 0 || !poll_lock_.try_lock()) return false;
  if (begin == 0) begin = now_ticks();
  w.log->wakes(begin);
  const poll_outcome p = ask_pollers(w, begin);
  last_polled_.store(&w, std::memory_order_relaxed);
  record_polling(w, begin, p.end);
  poll_lock_.unlock();
  let_another_poll();
  return p.progressed;
}

// Boundaries may be nanoseconds or milliseconds apart: the number of boundaries between two clock reads doubles until a
// read finds something due, up to a limit.
bool scheduler::clock_says_due(worker& w) const noexcept {
  constexpr unsigned longest_stride = 64;
  const bool due = now_ticks() >= w.next_check;
  w.clock_stride = due ? std::max(w.clock_stride / 2, 1u) : std::min(2 * w.clock_stride, longest_stride);
  w.until_clock = w.clock_stride;
  return due;
}

// The running task continues at w.boundary: what happened since split_slice() is not its own.
static void resume_after_events(worker& w) noexcept {
  w.in_task = true;
  if (w.delays != nullptr && w.id != 0) [[unlikely]]
    w.delays->pause_until(w.boundary);
  w.log->notify(probe::task_event_kind::resume, w.info.name, w.info.key, w.boundary);
}

void scheduler::attend_events(worker& w, ticks now) {
  w.next_check = now + spans_.check;
  const bool timer_due = earliest_deadline() <= now;
  if (!timer_due && n_pollers_.load(std::memory_order_relaxed) == 0) return;
  split_slice(w);
  w.in_task = false;  // the work of timers and pollers is not the task's
  if (timer_due) fire_timers(now);
  run_pollers(w, timer_due ? 0 : w.boundary);
  resume_after_events(w);
}

void scheduler::attend_events_between_tasks(worker& w, ticks now) {
  if (earliest_deadline() <= now) fire_timers(now);
  run_pollers(w);
}

// The pause between two search rounds. Pollers must not wait for its end: the worker that polled last continues
// polling, the others do not poll.
task* scheduler::poll_until(worker& w, ticks until) {
  for (ticks now = now_ticks(); now < until;) {
    const bool asks =
        polls_pending_.load(std::memory_order_relaxed) && last_polled_.load(std::memory_order_relaxed) == &w;
    if (asks && run_pollers(w, now)) return w.deque.pop();
    if (!asks) cpu_relax();
    now = asks && w.boundary > now ? w.boundary : now_ticks();  // polling has read the clock
  }
  return nullptr;
}

// Most network replies arrive sooner than suspending the task, searching for work and resuming the task would take. But
// the awaited result may be computed on this worker, and other workers may have tasks for it; checking them takes their
// cache lines, so it is done only every few rounds.
//
// A poller that requests an early call expects a result from a device shortly: polling lasts longer then. This worker
// also waits for a searching worker that is polling right now, since the worker that receives the result would take the
// task as well, away from the caches that hold its data.
static constexpr unsigned rounds_per_look = 4;
static constexpr unsigned answers_of_devices = 5;
static bool lock_within(spinlock& lock, ticks timeout) noexcept {
  if (lock.try_lock()) return true;
  if (timeout == 0) return false;
  for (const ticks begin = now_ticks(); !lock.try_lock(); cpu_relax())
    if (now_ticks() - begin >= timeout) return false;
  return true;
}
bool scheduler::poll_for(worker& w, const future_state_base& awaited) {
  if (deterministic_ || n_pollers_.load(std::memory_order_relaxed) == 0 || w.polling || !w.deque.empty()) return false;
  const bool of_device = poll_gap_.load(std::memory_order_relaxed) != 0;
  if (!lock_within(poll_lock_, of_device ? spans_.answer / 4 : 0)) return false;
  split_slice(w);
  const ticks begin = w.boundary;
  ticks now = begin;
  w.in_task = false;  // the work of pollers is not the task's
  unsigned rounds = 0;
  do now = ask_pollers(w, now).end;
  while (!awaited.ready() && w.deque.empty() && injected_.empty() && high_.empty() && w.inbox.empty() &&
         ticks_between(begin, now) <
             (poll_gap_.load(std::memory_order_relaxed) != 0 ? answers_of_devices : 1) * spans_.answer &&
         (++rounds % rounds_per_look != 0 || !any_work()));
  last_polled_.store(&w, std::memory_order_relaxed);  // it continues when the task is suspended
  record_polling(w, begin, now);
  resume_after_events(w);
  poll_lock_.unlock();
  let_another_poll();
  return awaited.ready();
}

}  // namespace plx::detail
