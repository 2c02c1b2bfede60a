// What the worker's loop, suspend() and the deterministic mode share. Internal to the scheduler's sources.
#pragma once

namespace plx::detail {

struct worker;

/// What this_worker() gives, without a call: for functions that are never inlined and in which no task waits.
extern constinit thread_local worker* worker_of_this_thread;

/// Says which worker the calling thread is. Never inlined, as this_worker().
void set_this_worker(worker* w) noexcept;

/// What a fiber does that has no task of its own: ask for the next task and run it, until next_task() gives null.
void loop_entry();

/// Ends the running task's piece and begins its next one, without waiting.
void split_slice(worker& w) noexcept;

/// The first act of every place that is switched to: what the place that was left still wanted done.
void run_after_switch() noexcept;

// What the C++ runtime keeps per thread about the exceptions that are being handled (the first two members of the
// Itanium ABI's __cxa_eh_globals). It belongs to the task: a handler that waits may go on on another thread, and other
// tasks handle exceptions of their own meanwhile. Loops handle none, so theirs is empty.
struct handled_exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

/// Where they lie for the calling thread. Never inlined: __cxa_get_globals is declared to give the same answer always,
/// and between fibers it does not.
void* exceptions_of_this_thread() noexcept;

}  // namespace plx::detail
