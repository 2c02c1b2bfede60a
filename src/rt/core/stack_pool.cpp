#include "rt/core/stack_pool.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>

#include "rt/core/spinlock.hpp"

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

// The number of guards the whole process may have. Each takes two of the kernel's map entries; a process that has used
// all of them can neither map memory nor start threads, so stacks use at most half.
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

std::size_t guard_bytes() noexcept {
  static const std::size_t bytes = round_up(std::size_t{64} << 10, page_bytes());
  return bytes;
}

[[gnu::noinline]] bool thread_stack_is_low() noexcept {
#if defined(__linux__)
  static thread_local const stack mine = [] {
    stack s;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return s;
    void* bottom = nullptr;
    if (pthread_attr_getstack(&attributes, &bottom, &s.size) == 0) s.bottom = static_cast<std::byte*>(bottom);
    pthread_attr_destroy(&attributes);
    return s;
  }();
  return mine.bottom != nullptr && low_in(mine);
#else
  return false;
#endif
}

stack_pool::stack_pool(std::size_t stack_bytes, bool guards)
    : stack_bytes_(round_up(std::max(stack_bytes, std::size_t{16} << 10), page_bytes())), guarded_(guards) {}

stack_pool::~stack_pool() {
  if (abandoned_) {
#if defined(PLX_ASAN)
    // Keeps memory owned by abandoned tasks reachable for leak checkers.
    for (const slab& s : slabs_) __lsan_register_root_region(s.base, s.bytes);
#endif
    return;
  }
  for (const slab& s : slabs_) {
#if defined(PLX_ASAN)
    __asan_unpoison_memory_region(s.base, s.bytes);  // or the next mapping at these addresses inherits these redzones
#endif
    munmap(s.base, s.bytes);
  }
  guards_of_process.fetch_sub(guards_, std::memory_order_relaxed);
}

bool stack_pool::take_free(stack& s) noexcept {
  spin_guard guard(lock_);
  if (free_.empty()) return false;
  s = free_.back();
  free_.pop_back();
  return true;
}

stack stack_pool::get() {
  stack s;
  while (!take_free(s)) {
    const std::lock_guard one_at_a_time(growing_);
    if (take_free(s)) break;
    add_slab();
  }
  return s;
}

void stack_pool::reserve(std::size_t n) {
  const std::lock_guard one_at_a_time(growing_);
  while (total() < n) add_slab();
}

void stack_pool::put(stack s) noexcept {
#if defined(PLX_ASAN)
  __asan_unpoison_memory_region(s.bottom, s.size);  // frames that never returned left their redzones behind
#endif
  spin_guard guard(lock_);
  free_.push_back(s);  // capacity was reserved when the slab was created
}

void stack_pool::discard(const stack& s) noexcept {
#if defined(PLX_ASAN)
  __asan_unpoison_memory_region(s.bottom, s.size);
#endif
  madvise(s.bottom, s.size, MADV_DONTNEED);
}

// Allocation and system calls precede the spinlock, so that put() and get() of other threads never wait for them.
void stack_pool::add_slab() {
  const std::size_t n = stacks_per_slab_;
  const std::size_t guard = guard_bytes();
  const std::size_t stride = stack_bytes_ + guard;
  const std::size_t bytes = stride * n;
  slabs_.reserve(slabs_.size() + 1);
  std::vector<stack> list;  // the new free_: room for every stack, so that put() need not allocate
  list.reserve(total() + n);
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  // A huge page under a stack would make its first touch cost 2 MiB of memory.
  madvise(base, bytes, MADV_NOHUGEPAGE);
  slabs_.push_back({static_cast<std::byte*>(base), bytes});
  for (std::size_t i = n; i-- > 0;) {
    std::byte* low = slabs_.back().base + i * stride;
    const bool guarded = guarded_ && guards_of_process.load(std::memory_order_relaxed) < most_guards() &&
                         mprotect(low, guard, PROT_NONE) == 0;
    if (guarded) guards_of_process.fetch_add(1, std::memory_order_relaxed), ++guards_;
    list.push_back({low + guard, stack_bytes_, guarded});
  }
  {
    spin_guard exchange(lock_);
    list.insert(list.end(), free_.begin(), free_.end());  // few: the list was empty a moment ago
    list.swap(free_);
  }
  total_.fetch_add(n, std::memory_order_relaxed);
  stacks_per_slab_ = std::min(n * 2, most_stacks_per_slab);
}

}  // namespace plx::detail
