// Timers and pollers.
#include <algorithm>

#include "base/assert.hpp"
#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/core/worker_loop.hpp"
#include "rt/future/future_state.hpp"

namespace plx::detail {

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

// A worker is awake now, but may be busy when the time comes: a sleeper has to watch the new deadline. Either it sees
// it before it sleeps, or it is seen here with the later deadline it goes by (pairs with heavy_fence()).
void scheduler::deadline_changed(ticks deadline) noexcept {
  full_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0 && deadline < next_wake_.load(std::memory_order_relaxed))
    wake_one();
}

std::uint64_t scheduler::add_poller(poll_function f, void* arg) {
  const worker* caller = this_worker();
  PLX_ASSERT((caller == nullptr || !caller->polling) && "a poller must not add or remove pollers");
  std::uint64_t id = 0;
  {
    spin_guard guard(poll_lock_);
    id = next_poller_id_++;
    pollers_.push_back({id, f, arg});
    n_pollers_.store(static_cast<unsigned>(pollers_.size()), std::memory_order_relaxed);
  }
  ask_pollers();
  return id;
}

// seq_cst, here and in run_pollers(): either the poller that runs just now sees that it was asked again, or what it
// says of itself is overwritten here.
void scheduler::ask_pollers() noexcept {
  if (n_pollers_.load(std::memory_order_relaxed) == 0) return;  // the last was removed: nothing is outstanding
  pollers_asked_.store(true);
  polls_pending_.store(true);  // who goes to sleep just now asks them soon
  full_fence();
  wake_for_work();  // who searches asks them
}

void scheduler::remove_poller(std::uint64_t id) {
  const worker* caller = this_worker();
  PLX_ASSERT((caller == nullptr || !caller->polling) && "a poller must not add or remove pollers");
  spin_guard guard(poll_lock_);
  std::erase_if(pollers_, [id](const poller& p) { return p.id == id; });
  n_pollers_.store(static_cast<unsigned>(pollers_.size()), std::memory_order_relaxed);
  if (pollers_.empty()) polls_pending_.store(false, std::memory_order_relaxed);
}

// The lock is held.
bool scheduler::ask_pollers(worker& w) {
  bool progressed = false, pending = false;
  w.poller_calls.add(pollers_.size());
  w.polling = true;
  // Both flags are mostly what they should be, and a store costs twenty times a look. Not to store is as good as to
  // store the same: who asks meanwhile has stored after the look, and is seen below, or overwrites what is said there.
  if (pollers_asked_.load()) pollers_asked_.store(false);
  wanted_gap_ = 0;
  for (const poller& p : pollers_) {
    const poll_result r = p.function(p.arg);
    progressed |= r == poll_result::progressed;
    pending |= r != poll_result::idle;
  }
  w.polling = false;
  poll_gap_.store(wanted_gap_, std::memory_order_relaxed);
  if (polls_pending_.load() != pending) polls_pending_.store(pending);
  if (pollers_asked_.load()) polls_pending_.store(true);  // while they ran: what they said may be out of date
  if (progressed) w.poller_progress.add();
  return progressed;
}

// The time since `begin` was background work; what comes next begins now.
void scheduler::book_polling(worker& w, ticks begin, ticks now) noexcept {
  w.boundary = now;
  w.log->background(ticks_between(begin, now));
  // This worker may be busy for long: an idle one has to go on asking.
  if (polls_pending_.load(std::memory_order_relaxed) && n_sleeping_.load(std::memory_order_relaxed) != 0 &&
      n_searching_.load(std::memory_order_relaxed) == 0 && sleepers_miss_something())
    wake_one();
}

// Who asked last and goes on searching asks more often than others could, and has what pollers look at in its caches:
// two who ask in turns take it from each other, and continue each other's tasks. But the system may have stopped it.
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

// How soon `w`, who asked last, should ask again what wants to be asked soon; 0: there is none, or that is another's.
ticks scheduler::close_gap(const worker& w) const noexcept {
  if (!polls_pending_.load(std::memory_order_relaxed) || last_polled_.load(std::memory_order_relaxed) != &w) return 0;
  return poll_gap_.load(std::memory_order_relaxed);
}

bool scheduler::run_pollers(worker& w) {
  if (n_pollers_.load(std::memory_order_relaxed) == 0 || !poll_lock_.try_lock()) return false;
  const ticks begin = now_ticks();
  const bool progressed = ask_pollers(w);
  last_polled_.store(&w, std::memory_order_relaxed);
  poll_lock_.unlock();
  book_polling(w, begin, now_ticks());
  return progressed;
}

// Boundaries may be nanoseconds or milliseconds apart: the distance between two looks at the clock doubles until one
// finds something due.
bool scheduler::clock_says_due(worker& w) const noexcept {
  constexpr unsigned longest_stride = 64;
  const bool due = now_ticks() >= w.next_check;
  w.clock_stride = due ? 1 : std::min(2 * w.clock_stride, longest_stride);
  w.until_clock = w.clock_stride;
  return due;
}

void scheduler::attend_events(worker& w, ticks now) {
  w.next_check = now + spans_.check;
  const bool timer_due = earliest_deadline() <= now;
  if (!timer_due && n_pollers_.load(std::memory_order_relaxed) == 0) return;
  split_slice(w);
  w.in_task = false;  // what timers and pollers do is not the task's doing
  if (timer_due) fire_timers(now);
  run_pollers(w);
  w.in_task = true;
}

// The pause between two looks for work. What comes from elsewhere must not wait for its end: who asked last goes on
// asking, the others leave it alone.
task* scheduler::poll_until(worker& w, ticks until) {
  for (ticks now = now_ticks(); now < until;) {
    const bool asks =
        polls_pending_.load(std::memory_order_relaxed) && last_polled_.load(std::memory_order_relaxed) == &w;
    if (asks && run_pollers(w)) return w.deque.pop();
    if (!asks) cpu_relax();
    now = asks && w.boundary > now ? w.boundary : now_ticks();  // who has asked has looked at the clock
  }
  return nullptr;
}

// Most answers of a network come sooner than the place is given up, work is searched, and the place is taken again. But
// what is awaited may be made here, and others may have work for this worker: to look at them takes their cache lines.
//
// A poller that wants to be asked again soon awaits something of a device that is about to come: it is waited for
// longer, and a searching worker that asks just now is waited for, since who gets the answer there would take the task
// as well, with all that it has in its caches.
static constexpr unsigned rounds_per_look = 4;
static constexpr unsigned answers_of_devices = 5;
static bool lock_within(spinlock& lock, ticks patience) noexcept {
  for (const ticks begin = now_ticks(); !lock.try_lock(); cpu_relax())
    if (now_ticks() - begin >= patience) return false;
  return true;
}
bool scheduler::poll_for(worker& w, const future_state_base& awaited) {
  if (deterministic_ || n_pollers_.load(std::memory_order_relaxed) == 0 || w.polling || !w.deque.empty()) return false;
  const bool of_device = poll_gap_.load(std::memory_order_relaxed) != 0;
  if (!lock_within(poll_lock_, of_device ? spans_.answer / 4 : 0)) return false;
  split_slice(w);
  const ticks begin = w.boundary;
  ticks now = begin;
  w.in_task = false;  // what pollers do is not the task's doing
  unsigned rounds = 0;
  do ask_pollers(w), now = now_ticks();
  while (!awaited.ready() && w.deque.empty() && injected_.empty() && high_.empty() && w.inbox.empty() &&
         ticks_between(begin, now) <
             (poll_gap_.load(std::memory_order_relaxed) != 0 ? answers_of_devices : 1) * spans_.answer &&
         (++rounds % rounds_per_look != 0 || !any_work()));
  w.in_task = true;
  last_polled_.store(&w, std::memory_order_relaxed);  // it goes on when the task gives up its place
  poll_lock_.unlock();
  book_polling(w, begin, now);
  return awaited.ready();
}

}  // namespace plx::detail
