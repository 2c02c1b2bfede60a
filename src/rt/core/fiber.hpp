// A stack that code can leave and return to. Boost.Context switches; this adds the sanitizers' annotations and the
// state of a suspended task.
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

/// The reason for a wait, as explain_waits() reports it. Lives in the frame of the caller of suspend().
struct wait_reason {
  wait_reason(const char* w) noexcept : what(w) {}  // NOLINT: implicit, most waits have only this
  wait_reason(const char* w, const void* o) noexcept : what(w), object(o) {}
  wait_reason(const char* w, const void* o, probe::name_id n) noexcept : what(w), object(o), name(n) {}

  const char* what;              // "mutex", "future", ...
  const void* object = nullptr;  // its address
  /// For objects that are held: returns an address on the holder's stack, see stack_here(), or null if the object is
  /// free. Called while the waiting task cannot resume, so the object is alive.
  std::uintptr_t (*holder)(const void* object) = nullptr;
  bool for_tasks_of = false;  // ends when all tasks whose `owner` is the object have ended (future, group)
  bool timed = false;         // ends by itself at a deadline
  bool measured = true;       // false: the task could continue immediately, and lets others run (yield)
  probe::name_id name = 0;    // of the object
};

/// An address on the caller's stack, by which explain_waits() finds the holder of a lock. Cost: a store per lock.
#define PLX_STACK_HERE() reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))

/// A task that waits for another one, which it runs inline in its own frame.
struct outer_task {
  task_info info;
  const void* owner;
  const outer_task* outer;
};

struct fiber {
  /// Where the fiber resumes; owned by Boost.Context. Null exactly while the fiber runs.
  std::atomic<void*> context{nullptr};
  stack memory{};
  scheduler* home = nullptr;  // valid until the fiber is abandoned
  home_link* link = nullptr;  // link to `home`, valid until the process ends
  unsigned stack_class = 0;   // not 0: of a size that a task requested; serves only such tasks

  // While a task on this fiber is suspended:
  task resume;                                        // queued in a deque to resume the task
  task_info info{};                                   // of the suspended task
  const void* task_id = nullptr;                      // its identity
  const void* task_owner = nullptr;                   // its task::owner
  const outer_task* outer = nullptr;                  // the tasks whose frames it runs in
  at_task_end* at_end = nullptr;                      // actions at its end
  ticks earlier = 0;                                  // its run time so far
  ticks since = 0;                                    // when it was suspended
  std::atomic<const wait_reason*> waits_on{nullptr};  // null when not suspended
  std::atomic<bool> ready{false};                     // resumed, and waits for a worker

  fiber* next_free = nullptr;
  fiber* next_in_registry = nullptr;

#if defined(PLX_ASAN)
  void* fake_stack = nullptr;
  const void* asan_bottom = nullptr;  // of the thread's own stack, for the fiber that represents a thread
  std::size_t asan_size = 0;
#endif
#if defined(PLX_TSAN)
  void* tsan = nullptr;
#endif
};

/// Prepares `f`, whose memory is set, to start in `entry` at the first switch to it. `entry` must never return.
void fiber_prepare(fiber& f, void (*entry)());
/// Makes `f` represent the calling thread's own stack.
void fiber_adopt_thread(fiber& f);
/// Switches from `from`, which must be the running fiber, to `to`. Returns when another switch leads back to `from`.
void fiber_switch(fiber& from, fiber& to);
void fiber_release(fiber& f) noexcept;  // call before freeing its memory; it never runs again

}  // namespace plx::detail
