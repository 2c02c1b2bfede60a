// The loop of a worker; suspending and resuming of tasks.
#include "rt/core/worker.hpp"

#include <cxxabi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_ring.hpp"
#include "probe/record/wait_log.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/explain/explain.hpp"
#include "rt/measure/origin.hpp"
#include "rt/measure/speedup.hpp"
#include "rt/sync/task_end.hpp"

namespace plx::detail {

constinit thread_local worker* worker_of_this_thread = nullptr;

[[gnu::noinline]] worker* this_worker() noexcept {
  asm volatile("" ::: "memory");  // keeps the compiler from remembering an earlier answer
  return worker_of_this_thread;
}

[[gnu::noinline]] void set_this_worker(worker* w) noexcept { worker_of_this_thread = w; }

[[gnu::noinline]] void* exceptions_of_this_thread() noexcept { return abi::__cxa_get_globals(); }

static handled_exceptions take_handled_exceptions(const worker& w) noexcept {
  handled_exceptions mine;
  std::memcpy(&mine, w.exceptions, sizeof mine);
  if (mine.caught != nullptr || mine.uncaught != 0) [[unlikely]] {
    const handled_exceptions none;
    std::memcpy(w.exceptions, &none, sizeof none);
  }
  return mine;
}

static void put_handled_exceptions(const worker& w, const handled_exceptions& mine) noexcept {
  if (mine.caught != nullptr || mine.uncaught != 0) [[unlikely]]
    std::memcpy(w.exceptions, &mine, sizeof mine);
}

static void run_after_switch(worker& w) noexcept {
  auto* f = std::exchange(w.after_switch, nullptr);
  if (f != nullptr) f(w.after_switch_arg);
}

void run_after_switch() noexcept { run_after_switch(*this_worker()); }

void resume_marker(task*, run_mode) { PLX_ASSERT(false && "a suspended task is resumed by the loop alone"); }

namespace {

void keep_left_fiber(void* f) noexcept {
  worker& w = *this_worker();
  w.home.keep_loop_fiber(w, static_cast<fiber*>(f));
}

// The end time of the current slice.
[[gnu::always_inline]] inline ticks end_now(worker& w) noexcept {
  // After its begin: the counter of another core may be behind, and edges find the slice that they enter by its begin.
  return std::max(w.boundary + 1, w.end != 0 ? std::exchange(w.end, 0) : now_ticks());
}

[[gnu::always_inline]] inline probe::task_slice slice_until(const worker& w, ticks now, bool finished) noexcept {
  return {.name = w.info.name,
          .key = w.info.key,
          .begin = w.boundary,
          .end = now,
          .finished = finished,
          .earlier = finished ? w.earlier : 0,
          .id = w.id,
          .cause = w.cause,
          .ready = w.ready};
}

// Adds the time until `now` to the running task and begins the next slice. Returns the length of the ended slice.
[[gnu::always_inline]] inline ticks begin_next_slice(worker& w, ticks now) noexcept {
  const ticks length = now - w.boundary;
  w.earlier += length;
  w.boundary = now;
  return length;
}

// Adds the slice to the longest path that leads to the task, and clears the cause of the slice. Only the measurement of
// tasks needs either.
[[gnu::always_inline]] inline void lengthen_path(worker& w, ticks length, bool finished) noexcept {
  w.cause = 0;
  w.ready = 0;
  if (w.delays != nullptr) [[unlikely]]
    return end_virtual_slice(w, finished);
  w.path += length;
  if (finished) w.log->path(w.path);
}

// end_slice() while a trace is recorded. Out of line: keeps tracing code out of the fast path.
template <bool finished>
[[gnu::noinline]] void end_traced_slice(worker& w) noexcept {
  const ticks now = end_now(w);
  w.log->record_traced(slice_until(w, now, finished));
  lengthen_path(w, begin_next_slice(w, now), finished);
}

// Accounts the slice that ends now and begins the next one.
void end_slice(worker& w, bool finished) noexcept {
  if (w.id != 0 && w.log->traces()) [[unlikely]]
    return finished ? end_traced_slice<true>(w) : end_traced_slice<false>(w);
  const ticks now = end_now(w);
  w.log->record(slice_until(w, now, finished));
  const ticks length = begin_next_slice(w, now);
  if (w.id != 0) [[unlikely]]
    lengthen_path(w, length, finished);
}

// Called when a task's function has returned: the task has ended, or it is a suspended coroutine, whose slice is
// already accounted.
void end_run(worker& w) noexcept {
  if (w.part_ended) [[unlikely]]
    w.part_ended = false;
  else
    end_slice(w, true);
  w.in_task = false;
}

// Sets the measurement data of the task that starts or resumes on this worker.
void begin_slice(worker& w, task& t, probe::task_event_kind kind) noexcept {
  w.in_task = true;
  w.id = 0;
  w.ready_by = nullptr;
  if (t.from != nullptr || origins_wanted()) [[unlikely]] {
    note_begin(w, t);
    if (!w.info.where.ordinary() && kind == probe::task_event_kind::start) [[unlikely]]
      w.log->placed(w.id, w.info.where.worker, static_cast<unsigned>(w.info.where.priority));
    if (w.ready != 0) {
      w.boundary = std::max(w.boundary, w.ready);  // it was found after the clock was last read
      // A sample suffices where every task records it for the trace. The period is prime, unlike patterns of tasks.
      if (!origins_wanted() || --w.ready_turn == 0) [[unlikely]] {
        w.ready_turn = 13;
        w.log->ready_wait(w.boundary - w.ready);
      }
    }
    if (w.delays != nullptr) [[unlikely]]
      take_delay(w);
  }
  w.log->notify(kind, w.info.name, w.info.key, w.boundary);
}

// Leaves the loop fiber, which goes to the free list and may be reused by another worker.
void leave_loop_for(worker& w, fiber& f) {
  fiber* loop = std::exchange(w.current, &f);
  w.after_switch = keep_left_fiber;
  w.after_switch_arg = loop;
  fiber_switch(*loop, f);
  run_after_switch();
}

// Accounts how long the task of `f`, which resumes now, was suspended. Futures and groups are numerous and short-lived:
// they are accounted together, without their object.
void record_wait(worker& w, const fiber& f) noexcept {
  const wait_reason& why = *f.waits_on.load(std::memory_order_relaxed);  // acquired with the task that resumes it
  if (!why.measured) return;
  // The worker's clock may have been read just before the task was suspended elsewhere.
  const ticks waited = w.boundary > f.since ? w.boundary - f.since : 0;
  w.waits->add({why.what, why.for_tasks_of ? nullptr : why.object, why.name}, waited);
}

// Completes the bookkeeping before the suspended task of `f` resumes on `w`.
void take_up(worker& w, fiber& f) noexcept {
  record_wait(w, f);
  w.info = f.info;
  w.task_id = f.task_id;
  w.task_owner = f.task_owner;
  w.earlier = f.earlier;
  w.outer = f.outer;
  w.at_end = f.at_end;
  f.waits_on.store(nullptr, std::memory_order_relaxed);
  if (w.home.inspected()) [[unlikely]]
    w.home.wait_for_inspector();
  w.resumed.add();
  begin_slice(w, f.resume, probe::task_event_kind::resume);
}

fiber* suspended_in(const task& t) noexcept { return static_cast<fiber*>(const_cast<void*>(t.owner)); }

void begin_on_own_stack(worker& w, task* t) {
  fiber* f = w.home.take_sized_fiber(t->info.where.stack);
  if (f == nullptr) return w.home.put_off(w, t);
  f->resume.next = t;
  leave_loop_for(w, *f);
}

void leave_loop(worker& w) { leave_loop_for(w, *w.thread_fiber); }

}  // namespace

void split_slice(worker& w) noexcept { end_slice(w, false); }

// The actions may let other tasks run; the rest of a task's end may not.
[[gnu::noinline]] static void end_with_actions() noexcept {
  worker& w = *this_worker();
  if (w.at_end == nullptr) return;
  const bool part_ended = std::exchange(w.part_ended, false);
  run_task_end(nullptr);
  this_worker()->part_ended = part_ended;
}

// Every task that was not suspended starts and ends here. The worker may be another one afterwards.
static void run_scheduled(worker& w, task* t) {
  w.info = t->info;
  w.task_id = t;
  w.task_owner = t->owner;
  w.earlier = 0;
  w.outer = nullptr;
  w.at_end = nullptr;
  begin_slice(w, *t, probe::task_event_kind::start);
  t->run(t, run_mode::scheduled);
  if (task_end_used.load(std::memory_order_relaxed)) [[unlikely]]
    end_with_actions();
  worker& after = *this_worker();
  if (!intact(after.current->memory)) [[unlikely]]
    unguarded_stack_overflowed(*after.current);
  after.executed.add();
  end_run(after);
}

void loop_entry() {
  run_after_switch();
  for (;;) {
    worker& asking = *this_worker();
    task* t = asking.home.next_task(asking);
    worker& w = *this_worker();  // the deterministic mode may have chosen another one
    if (t == nullptr) {
      leave_loop(w);
    } else if (t->run == resume_marker) {
      fiber& f = *suspended_in(*t);
      take_up(w, f);
      leave_loop_for(w, f);
    } else if (t->info.where.stack != 0) [[unlikely]] {
      begin_on_own_stack(w, t);
    } else {
      (void)w.home.reserve_loop_fiber(w);  // see suspend()
      run_scheduled(w, t);
    }
  }
}

// Where a worker continues after a task with its own stack: in a loop. Without memory for one, this stack becomes a
// loop's if it is large enough; a smaller one waits for a suspended task that can resume.
static fiber* after_own_stack() {
  for (;;) {
    worker& w = *this_worker();
    if (w.home.reserve_loop_fiber(w)) return w.home.take_loop_fiber(w);
    if (w.current->memory.size >= w.home.stack_bytes()) {
      w.current->stack_class = 0;
      loop_entry();
    }
    task* t = w.home.next_task(w);
    worker& here = *this_worker();  // the deterministic mode may have chosen another one
    if (t == nullptr) return here.thread_fiber;
    if (t->run != resume_marker) {
      here.home.put_off(here, t);
      continue;
    }
    take_up(here, *suspended_in(*t));
    return suspended_in(*t);
  }
}

void sized_entry() {
  for (;;) {
    run_after_switch();
    worker& w = *this_worker();
    task* t = std::exchange(w.current->resume.next, nullptr);
    t->info.where.stack = 0;  // it has its stack now: after a wait it must not start again
    run_scheduled(w, t);
    fiber* const next = after_own_stack();
    worker& after = *this_worker();
    fiber* self = std::exchange(after.current, next);
    after.after_switch = [](void* f) { static_cast<fiber*>(f)->home->keep_sized_fiber(static_cast<fiber*>(f)); };
    after.after_switch_arg = self;
    fiber_switch(*self, *after.current);
  }
}

// ------------------------------------------------------------------------------------------ suspending and resuming

// The next task if it is a suspended one and nothing else is due: it can then be resumed without a loop in between.
static fiber* next_in_place(worker& w) noexcept {
  task* t = w.home.next_resumed(w);
  if (t == nullptr) return nullptr;
  if (t->run != resume_marker) {
    w.home.put_back(w, t);
    return nullptr;
  }
  fiber* f = suspended_in(*t);
  take_up(w, *f);
  return f;
}

// Stores the state of the running task in its fiber.
static void note_suspending(worker& w, const wait_reason& waits_on) {
  fiber& self = *w.current;
  if (!intact(self.memory)) [[unlikely]]
    unguarded_stack_overflowed(self);
  self.info = w.info;
  self.task_id = w.task_id;
  self.task_owner = w.task_owner;
  self.outer = w.outer;
  self.at_end = w.at_end;
  end_slice(w, false);
  if (w.id != 0) [[unlikely]] {
    note_suspended(w, self.resume);
    // The next slice may be delayed, which must not happen before suspend() has left this fiber: its caller may hold
    // locks until then. So the loop finds it.
    if (w.delays != nullptr) w.next_check = 0;
  }
  w.in_task = false;
  self.earlier = w.earlier;
  self.since = w.boundary;
  w.suspended.add();  // last: the wait has begun when a reader counts the task
  self.ready.store(false, std::memory_order_relaxed);
  // release: pairs with the acquire of the inspector, which reads the members above and the fiber's context; the
  // context is null until the fiber has been left.
  self.waits_on.store(&waits_on, std::memory_order_release);
}

static void switch_to(worker& w, fiber& next, void (*after)(void*), void* arg) {
  fiber& self = *w.current;
  w.after_switch = after;
  w.after_switch_arg = arg;
  w.current = &next;
  const handled_exceptions of_task = take_handled_exceptions(w);
  fiber_switch(self, next);
  worker& here = *this_worker();
  run_after_switch(here);
  put_handled_exceptions(here, of_task);
}

void suspend(const wait_reason& waits_on, void (*after)(void*), void* arg) {
  worker& w = *this_worker();
  PLX_ASSERT(!w.polling && "a poller must not wait", waits_on.what);
  require_stack(w);
  note_suspending(w, waits_on);
  fiber* next = next_in_place(w);
  if (next == nullptr) next = w.home.take_loop_fiber(w);
  switch_to(w, *next, after, arg);
}

static void submit_fiber_last(void* f) { static_cast<fiber*>(f)->home->submit_last(*static_cast<fiber*>(f)); }

void yield_task() {
  worker* w = this_worker();
  if (w == nullptr) {
    sched_yield();
    return;
  }
  if (!w->home.reserve_loop_fiber(*w)) return;  // no memory: the caller continues
  w->yields.add();
  wait_reason why("yield");
  why.measured = false;
  suspend(why, submit_fiber_last, w->current);
}

// Suspends the running task and resumes it after the urgent tasks.
static void yield_to_urgent(worker& w) {
  wait_reason why("urgent tasks");
  why.measured = false;
  suspend(
      why, [](void* f) { resume(*static_cast<fiber*>(f)); }, w.current);
}

// Code between tasks, such as a poller, passes no boundaries, and neither does a task that cannot be suspended because
// memory is exhausted.
static bool passes_boundaries(const worker& w) noexcept {
  return w.in_task && !w.polling && w.free_fibers != nullptr && !w.home.deterministic();
}

[[gnu::noinline]] worker* pass_slowly(worker& w) {
  if (!passes_boundaries(w)) return &w;
  const ticks now = now_ticks();
  if (now >= w.next_check) w.home.attend_events(w, now);
  // Tasks that were made ready now are above the children in the deque: the caller finds them there, and waits.
  if (!w.home.urgent_for(w)) return &w;
  yield_to_urgent(w);
  return this_worker();
}

// Here the caller does not check the deque next, so it is suspended behind tasks that were made ready now.
bool pass_between_pieces(ticks now) {
  worker& w = *this_worker();
  if (!passes_boundaries(w)) return false;
  if (now < w.next_check && !w.home.urgent_for(w)) [[likely]]
    return false;
  struct request {
    fiber* caller;
    const task* below;  // compared only
  } me{w.current, w.deque.newest()};
  if (now >= w.next_check) w.home.attend_events(w, now);
  if (w.home.urgent_for(w)) {
    yield_to_urgent(w);
  } else if (w.deque.newest() != me.below && w.deque.newest() != nullptr) {
    wait_reason why("tasks that events made ready");
    why.measured = false;
    suspend(
        why,
        [](void* p) {
          const request r = *static_cast<request*>(p);
          worker& here = *this_worker();
          constexpr std::size_t most = 16;
          std::array<task*, most> above;
          std::size_t n = 0;
          while (n < most && here.deque.newest() != r.below) {
            task* t = here.deque.pop();
            if (t == nullptr) break;
            above[n++] = t;
          }
          resume(*r.caller);
          while (n > 0) here.deque.push(above[--n]);
        },
        &me);
  }
  return true;
}

void choose_here() {
  worker* w = this_worker();
  if (w == nullptr || !w->home.deterministic() || w->polling) return;
  if (w->home.choose(4) == 0) yield_task();
}

void arm_timer(timer& t) {
  worker& w = *this_worker();
  const ticks deadline = t.deadline;  // once armed, the timer may fire and be destroyed
  w.timers.arm(t);
  w.home.deadline_changed(deadline);
}

ticks end_part(worker& w) noexcept {
  end_slice(w, false);
  w.part_ended = true;
  return w.earlier;
}

[[gnu::noinline]] bool stack_is_low() noexcept {
  const worker* w = worker_of_this_thread;
  return w != nullptr ? low_in(w->current->memory) : thread_stack_is_low();
}

// Runs `t` in the frame of the running task, measured as a task of its own. Observed: observers, and counts of slices,
// get its start, and that the running task resumes.
template <bool Observed>
static void run_inside_as(worker& w, task* t, run_mode mode, bool as_caller) {
  const task_info parent = w.info;
  const void* const parent_id = w.task_id;
  const void* const parent_owner = w.task_owner;
  end_slice(w, false);
  const ticks parent_earlier = std::exchange(w.earlier, 0);
  const outer_task here{parent, parent_owner, w.outer};
  w.info = t->info;
  const caller_origin caller(w, *t);
  w.outer = &here;
  if (!as_caller) w.task_id = t, w.task_owner = t->owner;
  if constexpr (Observed) w.log->notify(probe::task_event_kind::start, w.info.name, w.info.key, w.boundary);
  const task_frame frame;
  t->run(t, mode);
  frame.end();
  worker& after = *this_worker();
  end_run(after);
  after.in_task = true;
  after.info = parent;
  caller.goes_on(after);
  after.task_id = parent_id;
  after.task_owner = parent_owner;
  after.earlier = parent_earlier;
  after.outer = here.outer;
  if constexpr (Observed) after.log->notify(probe::task_event_kind::resume, parent.name, parent.key, after.boundary);
}

static void run_inside(worker& w, task* t, run_mode mode, bool as_caller) {
  if ((w.log->mode() & (probe::worker_log::watching | probe::worker_log::counting)) != 0) [[unlikely]]
    run_inside_as<true>(w, t, mode, as_caller);
  else
    run_inside_as<false>(w, t, mode, as_caller);
}

void run_inline(worker& w, task* t, bool as_caller) {
  w.ran_inline.add();
  if (t->info.name == 0 && t->info.key == probe::no_key) {
    if (t->from != nullptr) [[unlikely]]
      forget_origin(*t);
    const task_frame frame;
    t->run(t, run_mode::run_inline);  // measured as part of its parent: no clock is read
    frame.end();
    if (origins_wanted()) note_going_on();
    return;
  }
  run_inside(w, t, run_mode::run_inline, as_caller);
}

void let_another_run() {
  worker& w = *this_worker();
  task* t = w.home.try_next_task(w);
  if (t == nullptr) {
    sched_yield();
    return;
  }
  const bool resumes = t->run == resume_marker, sized = !resumes && t->info.where.stack != 0;
  fiber* const next = resumes ? suspended_in(*t) : sized ? w.home.take_sized_fiber(t->info.where.stack) : nullptr;
  if (next != nullptr) {
    wait_reason why("memory for a stack");
    why.measured = false;
    note_suspending(w, why);
    fiber* self = w.current;
    if (resumes)
      take_up(w, *next);
    else
      next->resume.next = t;
    switch_to(w, *next, submit_fiber_last, self);
  } else if (sized || low_in(w.current->memory)) {
    w.home.put_off(w, t);
  } else {
    run_inside(w, t, run_mode::scheduled, false);
    this_worker()->executed.add();
  }
}

}  // namespace plx::detail
