// A worker: the queues, stacks and measurements of one thread of a scheduler, and what its loop runs.
//
// Thread safety: a member is used by the worker alone unless stated. The functions belong to the scheduler's sources.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "rt/core/deque.hpp"
#include "rt/core/fiber.hpp"
#include "rt/core/parker.hpp"
#include "rt/core/task.hpp"
#include "rt/core/timer_queue.hpp"

namespace plx::probe {
struct thread_usage;
class wait_log;
class worker_log;
}  // namespace plx::probe

namespace plx::detail {

class delay_account;  // virtual_delay.hpp
class made_ready_by;
struct spare_origin;  // origin.hpp

/// A counter that one thread writes and any thread reads.
class owned_count {
 public:
  void add(std::uint64_t n = 1) noexcept {
    n_.store(n_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return n_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> n_{0};
};

struct worker {
  worker(scheduler& s, unsigned i);
  ~worker();

  work_deque deque;
  task_queue inbox;                          // tasks that only this worker runs
  alignas(cache_line_bytes) spinlock thief;  // held by the thief that steals from this worker
  alignas(cache_line_bytes) scheduler& home;
  const unsigned index;

  fiber* current = nullptr;           // the running fiber
  task_info info{};                   // of the running task
  const void* task_id = nullptr;      // its identity, never dereferenced: a coroutine frees itself before its run ends
  const void* task_owner = nullptr;   // its task::owner
  const outer_task* outer = nullptr;  // the tasks in whose frames it runs
  at_task_end* at_end = nullptr;      // actions at its end, see task_end.hpp
  bool part_ended = false;            // the coroutine that ran is suspended and its time is accounted
  ticks earlier = 0;                  // run time of the running task before it was suspended
  ticks boundary = 0;                 // the clock at the last task boundary: the start of what runs now
  ticks next_check = 0;               // when timers and pollers are checked next
  unsigned until_clock = 1;           // boundaries within tasks until the clock is read, see boundary_due()
  unsigned clock_stride = 1;
  probe::worker_log* log = nullptr;
  probe::wait_log* waits = nullptr;

  // Trace data of the running task; all 0 unless it is recorded. See origin.hpp.
  bool in_task = false;
  std::uint64_t id = 0;
  std::uint64_t cause = 0;                  // the slice that made this slice ready
  ticks ready = 0;                          // when it became ready
  ticks path = 0;                           // the longest path to `boundary`; with `delays` the virtual time then
  delay_account* delays = nullptr;          // of virtual speed-ups, if any: see speedup.hpp
  const made_ready_by* ready_by = nullptr;  // the result that causes tasks to become ready now
  spare_origin* spare_origins = nullptr;    // free list, from started tasks and destroyed results
  unsigned n_spare_origins = 0;
  unsigned ready_turn = 1;  // samples ready times while every task records one: see begin_slice()
  ticks end = 0;            // when the running task delivered its result; it does nothing after that

  void (*after_switch)(void*) = nullptr;  // action that the fiber just left has requested
  void* after_switch_arg = nullptr;

  fiber* free_fibers = nullptr;  // idle loop fibers
  unsigned n_free_fibers = 0;
  // Another worker may hand a task over to this one while it searches: see scheduler::hand_over().
  alignas(cache_line_bytes) std::atomic<task*> handed{nullptr};
  std::atomic<bool> searching{false};
  std::atomic<bool> looks_for_work{false};  // searches or sleeps: it runs no task

  // Searching workers read the next deadline of every worker in each round. It changes rarely, so its line must hold
  // nothing that the worker writes for each task or round, such as `turn` and `rng`.
  alignas(cache_line_bytes) timer_queue timers;

  /// Last observation of another worker's deque that held a single task.
  struct single_task {
    std::int64_t oldest = -1;
    ticks since = 0;
  };
  alignas(
      cache_line_bytes) std::vector<single_task> singles;  // by victim; only this worker uses the members from here on
  std::vector<unsigned> victims;                           // the other workers, nearest first
  std::vector<unsigned> groups;                            // end in `victims` of each group of equal distance
  std::uint64_t rng;
  unsigned turn = 0;          // counts loop rounds, so that the injection queue is checked periodically
  bool others_first = false;  // see scheduler::put_off()

  parker sleep;
  ticks nap = 0;                            // length of its next nap as the watcher
  ticks sleeps_until = timer_queue::never;  // guarded by the scheduler's sleep_lock_
  bool polling = false;
  ticks poll_clock = 0;           // the clock while pollers run, see scheduler::add_poller()
  fiber* thread_fiber = nullptr;  // the operating-system thread's own stack
  std::atomic<int> thread_id{0};  // the operating system's id of the running thread, for measurement
  static constexpr int thread_has_ended = -1;
  std::unique_ptr<const probe::thread_usage> last_usage;  // set when the thread has ended, after keep_usage()
  void* exceptions = nullptr;  // the C++ runtime's per-thread state of the exceptions being handled

  owned_count executed, ran_inline, spawned, suspended, resumed, steals, failed_steals, sleeps, idle_periods, yields,
      poller_calls, poller_progress;
};

/// The worker that the caller runs on; null on an external thread. Never inlined: after a point where a task can wait,
/// the answer may differ.
worker* this_worker() noexcept;

/// The value of this_worker() without a call, for functions that are never inlined and in which no task waits.
extern constinit thread_local worker* worker_of_this_thread;

/// Sets the worker of the calling thread. Never inlined, like this_worker().
void set_this_worker(worker* w) noexcept;

/// The clock in a poller, some us old at most; elsewhere now. Saves a reading of the clock, which takes as long as
/// several atomic instructions in a virtual machine.
inline ticks clock_of_poll() noexcept {
  const worker* w = this_worker();
  return w != nullptr && w->polling && w->poll_clock != 0 ? w->poll_clock : now_ticks();
}

/// Entry of a fiber without a task of its own: fetches and runs tasks until next_task() returns null.
void loop_entry();

/// Entry of a fiber whose stack has the size that a task requested: runs that task and returns to its free list.
void sized_entry();

/// The `run` of a suspended task, which the loop must resume.
void resume_marker(task*, run_mode);

/// Ends the running task's slice and begins its next one, without waiting.
void split_slice(worker& w) noexcept;

/// Runs the action that the fiber just left has requested. Called first by every fiber that is switched to.
void run_after_switch() noexcept;

// The C++ runtime's per-thread state of the exceptions being handled (the first two members of the Itanium ABI's
// __cxa_eh_globals). It belongs to the task: a handler that waits may continue on another thread, and other tasks
// handle exceptions of their own meanwhile. Loops handle none, so their state is empty.
struct handled_exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

/// The address of that state for the calling thread. Never inlined: __cxa_get_globals is declared to return the same
/// result always, which does not hold across fiber switches.
void* exceptions_of_this_thread() noexcept;

}  // namespace plx::detail
