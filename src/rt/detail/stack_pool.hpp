// Stacks for fibers, cut from slabs of virtual memory and used again.
//
// Thread safety: all members. Cost: a lock and a list operation; fresh memory costs one mmap per slab of stacks and a
// page fault per page touched. A stack has a guard page below it as long as the stacks of the process use less than
// half of the kernel's map entries (vm.max_map_count); after that the next ones have none and `guarded` says so;
// the page is then left alone, so that intact() can see whether the stack grew into it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rt/detail/spinlock.hpp"

namespace plx::detail {

struct stack {
  std::byte* bottom = nullptr;  // lowest usable address
  std::size_t size = 0;         // bytes from bottom to the top, where a fiber starts
  bool guarded = false;
};

/// The size of a guard page.
std::size_t guard_bytes() noexcept;

/// False when a stack without a guard page has grown over its end: the words below it, which were never written, are
/// not zero any more. Reading them costs no memory: the kernel has one page of zeros for all.
inline bool intact(const stack& s) noexcept {
  if (s.guarded) return true;
  const auto* below = reinterpret_cast<const std::uint64_t*>(s.bottom);
  std::uint64_t any = 0;
  for (int i = 1; i <= 32; ++i) any |= below[-i];
  return any == 0;
}

class stack_pool {
 public:
  explicit stack_pool(std::size_t stack_bytes, bool guards = true);
  ~stack_pool();  // requires: every stack given back, or its fiber never to run again
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;

  /// Throws std::bad_alloc when the system has no more memory.
  stack get();
  void put(stack s) noexcept;
  /// Gives the memory behind a stack back to the system; it reads as zeros when it is used again. What stood on it is
  /// lost. Cost: a system call and the pages that were touched.
  static void discard(const stack& s) noexcept;

  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stack_bytes_; }
  [[nodiscard]] std::size_t total() const noexcept { return total_.load(std::memory_order_relaxed); }  // ever made
  /// Leaves the memory mapped for ever: used when suspended tasks are abandoned at shutdown.
  void abandon() noexcept { abandoned_ = true; }

 private:
  struct slab {
    std::byte* base;
    std::size_t bytes;
  };
  void add_slab();

  std::size_t stack_bytes_;
  const bool guarded_;
  spinlock lock_;
  std::vector<stack> free_;
  std::vector<slab> slabs_;
  std::atomic<std::size_t> total_{0};  // written under lock_; counters read it at any time
  std::size_t guards_ = 0;
  std::size_t stacks_per_slab_ = 16;
  bool abandoned_ = false;
};

}  // namespace plx::detail
