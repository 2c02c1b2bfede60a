// A stack that code can leave and come back to. Boost.Context does the switching; this adds what the sanitizers must
// be told and the place where a suspended task waits.
//
// Thread safety: a fiber is run by one worker at a time; `registry` links are guarded by the scheduler. Cost: a switch
// is about 9 ns. Sanitizers: __sanitizer_*_switch_fiber and __tsan_switch_to_fiber at each switch.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "rt/detail/stack_pool.hpp"
#include "rt/detail/task.hpp"

namespace plx::detail {

class scheduler;

struct fiber {
  void* context = nullptr;  // where the fiber goes on; owned by Boost.Context, valid while it is not running
  stack memory{};
  scheduler* home = nullptr;
  unsigned stack_class = 0;  // not 0: of a size that a task asked for; it serves such tasks only

  // While a task on this fiber is suspended:
  task resume;                                 // what is put in a deque to make it run again
  task_info info{};                            // of the suspended task
  const void* task_id = nullptr;               // its identity
  ticks earlier = 0;                           // the time it has taken so far
  std::atomic<const char*> waits_on{nullptr};  // "mutex", "future", ...: null when not suspended

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
