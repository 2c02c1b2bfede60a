// A stack that code can leave and come back to. Boost.Context does the switching; this adds what the sanitizers must
// be told and the place where a suspended task waits.
//
// Thread safety: a fiber is run by one worker at a time; `registry` links are guarded by the scheduler. Cost: a switch
// is about 9 ns. Sanitizers: __sanitizer_*_switch_fiber and __tsan_switch_to_fiber at each switch.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "rt/core/stack_pool.hpp"
#include "rt/core/task.hpp"

namespace plx::detail {

class scheduler;
struct home_link;
struct at_task_end;  // task_end.hpp

/// What a task waits on, as explain_waits() tells it. Lives in the frame of who calls suspend().
struct wait_reason {
  wait_reason(const char* w) noexcept : what(w) {}  // NOLINT: implicit, as most waits know no more
  wait_reason(const char* w, const void* o) noexcept : what(w), object(o) {}
  wait_reason(const char* w, const void* o, probe::name_id n) noexcept : what(w), object(o), name(n) {}

  const char* what;              // "mutex", "future", ...
  const void* object = nullptr;  // its address
  /// For what is held: a place on the stack of who holds the object now, see stack_here(); null when nobody does. It is
  /// called while the waiting task cannot go on, so the object is alive.
  std::uintptr_t (*holder)(const void* object) = nullptr;
  bool for_tasks_of = false;  // it ends when all tasks end whose `owner` is the object: a future's, a group's
  bool timed = false;         // it ends by itself at a deadline
  bool measured = true;       // false: the task could go on at once, and lets others run (yield)
  probe::name_id name = 0;    // of the object
};

/// A place on the caller's stack: by it explain_waits() finds the task that took a lock, for a store per lock.
#define PLX_STACK_HERE() reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))

/// A task that waits for one which it took back and runs in its own frame.
struct outer_task {
  task_info info;
  const void* owner;
  const outer_task* outer;
};

struct fiber {
  /// Where the fiber goes on; owned by Boost.Context. Null exactly while the fiber runs.
  std::atomic<void*> context{nullptr};
  stack memory{};
  scheduler* home = nullptr;  // as long as the fiber is not abandoned
  home_link* link = nullptr;  // to it, for as long as the process lives
  unsigned stack_class = 0;   // not 0: of a size that a task asked for; it serves such tasks only

  // While a task on this fiber is suspended:
  task resume;                                        // what is put in a deque to make it run again
  task_info info{};                                   // of the suspended task
  const void* task_id = nullptr;                      // its identity
  const void* task_owner = nullptr;                   // its task::owner
  const outer_task* outer = nullptr;                  // those whose frames it runs in
  at_task_end* at_end = nullptr;                      // what it does at its end
  ticks earlier = 0;                                  // the time it has taken so far
  ticks since = 0;                                    // when it was suspended
  std::atomic<const wait_reason*> waits_on{nullptr};  // null when not suspended
  std::atomic<bool> ready{false};                     // it was resumed, and waits for a worker

  fiber* next_free = nullptr;
  fiber* next_in_registry = nullptr;

#if defined(PLX_ASAN)
  void* fake_stack = nullptr;
  const void* asan_bottom = nullptr;  // of the thread's own stack, for the fiber that stands for a thread
  std::size_t asan_size = 0;
#endif
#if defined(PLX_TSAN)
  void* tsan = nullptr;
#endif
};

/// Prepares `f`, whose memory is set, to begin in `entry` at the first switch to it. `entry` must never return.
void fiber_prepare(fiber& f, void (*entry)());
/// Makes `f` stand for the calling thread's own stack.
void fiber_adopt_thread(fiber& f);
/// Leaves `from`, which must be the running fiber, and goes on in `to`. Returns when somebody switches back.
void fiber_switch(fiber& from, fiber& to);
void fiber_release(fiber& f) noexcept;  // before its memory goes; it will never run again

}  // namespace plx::detail
