// Stacks for fibers, cut from slabs of virtual memory and used again.
//
// Thread safety: all members. Cost: a lock and a list operation; fresh memory costs one mmap per slab of stacks and a
// page fault per page touched. A stack has a guard page below it as long as the stacks of the process use less than
// half of the kernel's map entries (vm.max_map_count); after that the next ones have none and `guarded` says so.
#pragma once

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

class stack_pool {
 public:
  explicit stack_pool(std::size_t stack_bytes);
  ~stack_pool();  // requires: every stack given back, or its fiber never to run again
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;

  /// Throws std::bad_alloc when the system has no more memory.
  stack get();
  void put(stack s) noexcept;

  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stack_bytes_; }
  [[nodiscard]] std::size_t total() const noexcept { return total_; }  // ever made
  /// Leaves the memory mapped for ever: used when suspended tasks are abandoned at shutdown.
  void abandon() noexcept { abandoned_ = true; }

 private:
  struct slab {
    std::byte* base;
    std::size_t bytes;
  };
  void add_slab();

  std::size_t stack_bytes_;
  spinlock lock_;
  std::vector<stack> free_;
  std::vector<slab> slabs_;
  std::size_t total_ = 0;
  std::size_t guards_ = 0;
  std::size_t stacks_per_slab_ = 16;
  bool abandoned_ = false;
};

}  // namespace plx::detail
