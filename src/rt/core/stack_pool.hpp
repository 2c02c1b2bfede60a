// Stacks for fibers, cut from slabs of virtual memory and reused.
//
// Thread-safe. Cost: a spinlock and a list operation; fresh memory costs one mmap per slab of stacks, an
// mprotect per stack (other threads that need a stack block meanwhile) and a page fault per page touched. A stack has
// guard_bytes() of inaccessible memory below it as long as the stacks of the process use less than half of the kernel's
// map entries (vm.max_map_count; a guard takes two, whatever its size). The next stacks have none and `guarded` is
// false; the bytes below them are left untouched, so that intact() detects a stack that grew into them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "rt/core/spinlock.hpp"

namespace plx::detail {

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

}  // namespace plx::detail
