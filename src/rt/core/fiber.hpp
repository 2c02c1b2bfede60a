// Fibers and their stacks. A fiber is a stack that code can leave and return to. Boost.Context switches; this adds the
// sanitizers' annotations and the state of a suspended task.
//
// Thread safety: a fiber is run by one worker at a time; `registry` links are guarded by the scheduler. Cost: a switch
// is about 9 ns. Sanitizers: __sanitizer_*_switch_fiber and __tsan_switch_to_fiber at each switch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/core/task.hpp"

namespace plx::detail {

class scheduler;
struct home_link;
struct at_task_end;  // task_end.hpp

// ---------------------------------------------------------------------------------- stacks

// Stacks for fibers, cut from slabs of virtual memory and reused.
//
// Thread-safe. Cost: a spinlock and a list operation; fresh memory costs one mmap per slab of stacks, an
// mprotect per stack (other threads that need a stack block meanwhile) and a page fault per page touched. A stack has
// guard_bytes() of inaccessible memory below it as long as the stacks of the process use less than half of the kernel's
// map entries (vm.max_map_count; a guard takes two, whatever its size). The next stacks have none and `guarded` is
// false; the bytes below them are left untouched, so that intact() detects a stack that grew into them.

struct stack {
  std::byte* bottom = nullptr;  // lowest usable address
  std::size_t size = 0;         // bytes from bottom to the top, where a fiber starts
  bool guarded = false;
};

/// The size of a guard: 64 KiB, or a page where that is larger. A frame that is larger than the guard can step over it
/// unless its code was compiled with -fstack-clash-protection, which touches every page (plx::rt passes the option on
/// to targets that link it).
std::size_t guard_bytes() noexcept;

/// False when a stack without a guard has grown over its end: the words below it, which were never written, are
/// no longer zero. Reading them costs no memory: the kernel maps one shared page of zeros.
inline bool intact(const stack& s) noexcept {
  if (s.guarded) return true;
  const auto* below = reinterpret_cast<const std::uint64_t*>(s.bottom);
  std::uint64_t any = 0;
  for (int i = 1; i <= 32; ++i) any |= below[-i];
  return any == 0;
}

/// True when the caller's frame lies in the lowest quarter of `s`. False for a frame that lies elsewhere.
[[gnu::always_inline]] inline bool low_in(const stack& s) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here - reinterpret_cast<std::uintptr_t>(s.bottom) < s.size / 4;  // unsigned: below the bottom is far away
}

/// low_in() the stack of the calling thread, for external threads. Cost: the first call of a thread asks the
/// operating system for its bounds.
bool thread_stack_is_low() noexcept;

class stack_pool {
 public:
  explicit stack_pool(std::size_t stack_bytes, bool guards = true);
  ~stack_pool();  // requires: every stack is returned, or its fiber never runs again
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;

  /// Throws std::bad_alloc when the operating system has no more memory.
  stack get();
  /// Maps memory for at least `n` stacks in total, without touching it. Throws std::bad_alloc as get() does.
  void reserve(std::size_t n);
  void put(stack s) noexcept;
  /// Returns the memory behind a stack to the operating system and loses its contents; it reads as zeros when used
  /// again. Cost: a system call and the pages that were touched.
  static void discard(const stack& s) noexcept;

  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stack_bytes_; }
  [[nodiscard]] std::size_t total() const noexcept { return total_.load(std::memory_order_relaxed); }  // ever created
  /// Leaves the memory mapped until the process ends: used when suspended tasks are abandoned at shutdown.
  void abandon() noexcept { abandoned_ = true; }

 private:
  struct slab {
    std::byte* base;
    std::size_t bytes;
  };
  bool take_free(stack& s) noexcept;
  void add_slab();  // requires: growing_ held

  std::size_t stack_bytes_;
  const bool guarded_;
  spinlock lock_;
  std::vector<stack> free_;  // guarded by lock_
  std::mutex growing_;       // held by the thread that maps a slab; guards the members below
  std::vector<slab> slabs_;
  std::atomic<std::size_t> total_{0};  // counters read it at any time
  std::size_t guards_ = 0;
  std::size_t stacks_per_slab_ = 16;
  bool abandoned_ = false;
};

// ---------------------------------------------------------------------------------- fibers

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
