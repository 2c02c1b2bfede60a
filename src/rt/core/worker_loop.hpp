// Shared by the worker's loop, suspend() and the deterministic mode. Internal to the scheduler's sources.
#pragma once

namespace plx::detail {

struct worker;

/// The value of this_worker() without a call, for functions that are never inlined and in which no task waits.
extern constinit thread_local worker* worker_of_this_thread;

/// Sets the worker of the calling thread. Never inlined, like this_worker().
void set_this_worker(worker* w) noexcept;

/// Entry of a fiber without a task of its own: fetches and runs tasks until next_task() returns null.
void loop_entry();

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
