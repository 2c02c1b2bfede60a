#include "rt/detail/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>

#include "rt/detail/platform.hpp"

#if defined(PLX_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace plx::detail {
namespace {

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

constexpr std::size_t most_stacks_per_slab = 1024;

// How many guard pages the whole process may have. Each takes two of the kernel's map entries; a process without any
// left can neither map memory nor start threads, so stacks use at most half of them.
std::size_t most_guards() {
  static const std::size_t most = [] {
    long entries = 65530;
    if (std::FILE* f = std::fopen("/proc/sys/vm/max_map_count", "r")) {
      if (std::fscanf(f, "%ld", &entries) != 1) entries = 65530;
      std::fclose(f);
    }
    return static_cast<std::size_t>(std::max(entries, 0L)) / 4;
  }();
  return most;
}

std::atomic<std::size_t> guards_of_process{0};

}  // namespace

std::size_t guard_bytes() noexcept { return page_bytes(); }

stack_pool::stack_pool(std::size_t stack_bytes, bool guards)
    : stack_bytes_(round_up(std::max(stack_bytes, std::size_t{16} << 10), page_bytes())), guarded_(guards) {}

stack_pool::~stack_pool() {
  if (abandoned_) {
#if defined(PLX_ASAN)
    // What the abandoned tasks hold is still referred to, from here.
    for (const slab& s : slabs_) __lsan_register_root_region(s.base, s.bytes);
#endif
    return;
  }
  for (const slab& s : slabs_) {
#if defined(PLX_ASAN)
    __asan_unpoison_memory_region(s.base, s.bytes);  // or who gets these addresses next has the redzones of ours
#endif
    munmap(s.base, s.bytes);
  }
  guards_of_process.fetch_sub(guards_, std::memory_order_relaxed);
}

stack stack_pool::get() {
  spin_guard guard(lock_);
  if (free_.empty()) add_slab();
  const stack s = free_.back();
  free_.pop_back();
  return s;
}

void stack_pool::put(stack s) noexcept {
#if defined(PLX_ASAN)
  __asan_unpoison_memory_region(s.bottom, s.size);  // frames that never returned left their redzones behind
#endif
  spin_guard guard(lock_);
  free_.push_back(s);  // capacity was reserved when the slab was made
}

void stack_pool::discard(const stack& s) noexcept {
#if defined(PLX_ASAN)
  __asan_unpoison_memory_region(s.bottom, s.size);
#endif
  madvise(s.bottom, s.size, MADV_DONTNEED);
}

void stack_pool::add_slab() {
  const std::size_t page = page_bytes();
  const std::size_t stride = stack_bytes_ + page;
  const std::size_t bytes = stride * stacks_per_slab_;
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  // A huge page under a stack would make its first touch cost 2 MiB of memory.
  madvise(base, bytes, MADV_NOHUGEPAGE);
  slabs_.push_back({static_cast<std::byte*>(base), bytes});
  free_.reserve(total() + stacks_per_slab_);
  for (std::size_t i = stacks_per_slab_; i-- > 0;) {
    std::byte* low = slabs_.back().base + i * stride;
    const bool guarded = guarded_ && guards_of_process.load(std::memory_order_relaxed) < most_guards() &&
                         mprotect(low, page, PROT_NONE) == 0;
    if (guarded) guards_of_process.fetch_add(1, std::memory_order_relaxed), ++guards_;
    free_.push_back({low + page, stack_bytes_, guarded});
  }
  total_.fetch_add(stacks_per_slab_, std::memory_order_relaxed);
  stacks_per_slab_ = std::min(stacks_per_slab_ * 2, most_stacks_per_slab);
}

}  // namespace plx::detail
