// Switching between fibers, their stacks, and the scheduler's lists of free ones.
#include "rt/core/fiber.hpp"

#include <boost/context/detail/fcontext.hpp>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "rt/core/scheduler.hpp"

#if defined(PLX_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(PLX_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace plx::detail {
namespace {

namespace bc = boost::context::detail;

struct handoff {
  fiber* from;
  fiber* to;
};

// Runs first on the fiber that was switched to: makes the fiber just left resumable.
void arrive(bc::transfer_t t) noexcept {
  const auto* h = static_cast<const handoff*>(t.data);
  // release: a thread that reads the context sees the whole stack that was left.
  h->from->context.store(t.fctx, std::memory_order_release);
#if defined(PLX_ASAN)
  const void* left_bottom = nullptr;
  std::size_t left_size = 0;
  fiber* from = h->from;
  __sanitizer_finish_switch_fiber(h->to->fake_stack, &left_bottom, &left_size);
  if (from->asan_bottom == nullptr) {
    from->asan_bottom = left_bottom;
    from->asan_size = left_size;
  }
#endif
}

using entry_function = void (*)();

void first_entry(bc::transfer_t t) {
  // The context slot of the fiber's record holds the entry point until the first switch to it.
  const auto* h = static_cast<const handoff*>(t.data);
  const auto entry = reinterpret_cast<entry_function>(const_cast<void*>(h->to->task_id));
  h->to->task_id = nullptr;
  arrive(t);
  entry();
  PLX_ASSERT(false && "a fiber's entry function returned");
}

}  // namespace

void fiber_prepare(fiber& f, void (*entry)()) {
  f.context.store(bc::make_fcontext(f.memory.bottom + f.memory.size, f.memory.size, first_entry),
                  std::memory_order_release);
  f.task_id = reinterpret_cast<const void*>(entry);
#if defined(PLX_ASAN)
  f.asan_bottom = f.memory.bottom;
  f.asan_size = f.memory.size;
  f.fake_stack = nullptr;
#endif
#if defined(PLX_TSAN)
  f.tsan = __tsan_create_fiber(0);
#endif
}

void fiber_adopt_thread(fiber& f) {
#if defined(PLX_TSAN)
  f.tsan = __tsan_get_current_fiber();
#else
  (void)f;
#endif
}

void fiber_switch(fiber& from, fiber& to) {
  handoff h{&from, &to};
#if defined(PLX_ASAN)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.asan_bottom, to.asan_size);
#endif
#if defined(PLX_TSAN)
  __tsan_switch_to_fiber(to.tsan, 0);
#endif
  void* there = to.context.load(std::memory_order_relaxed);
  to.context.store(nullptr, std::memory_order_relaxed);
  arrive(bc::jump_fcontext(there, &h));
}

void fiber_release(fiber& f) noexcept {
#if defined(PLX_TSAN)
  // A cold fiber has been released already.
  if (f.memory.bottom != nullptr && f.tsan != nullptr) __tsan_destroy_fiber(std::exchange(f.tsan, nullptr));
#else
  (void)f;
#endif
}

// ----------------------------------------------------------------------------------- stacks

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

// Memory for up to `n` stacks; where the system has less, for half as many, but for at least 4 MiB or one stack: the
// rest is for the heap. `n` becomes their number. Throws std::bad_alloc.
static void* map_stacks(std::size_t& n, std::size_t stride) {
  for (;; n /= 2) {
    void* base = mmap(nullptr, stride * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base != MAP_FAILED) return base;
    if (n == 1 || stride * n / 2 < std::size_t{4} << 20) throw std::bad_alloc();
  }
}

// Allocation and system calls precede the spinlock, so that put() and get() of other threads never wait for them.
// All guards at once: a guard when its stack is first used saved a third of the calls of mprotect() in
// skynet/plx-async, but it took 9 to 39 % longer (2 to 16 threads on two cores).
void stack_pool::add_slab() {
  std::size_t n = stacks_per_slab_;
  const std::size_t guard = guard_bytes();
  const std::size_t stride = stack_bytes_ + guard;
  slabs_.reserve(slabs_.size() + 1);
  std::vector<stack> list;  // the new free_: room for every stack, so that put() need not allocate
  list.reserve(total() + n);
  void* base = map_stacks(n, stride);
  const std::size_t bytes = stride * n;
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

// ------------------------------------------------------------------------------ free fibers

bool scheduler::find_loop_fiber(worker& w) noexcept {
  take_common_fibers(w);
  if (w.free_fibers != nullptr) return true;
  try {
    fiber* f = take_cold_fiber();
    keep_loop_fiber(w, f != nullptr ? f : new_fiber(stacks_, loop_entry));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// A loop between two tasks holds no state, so it can restart on an empty stack.
void scheduler::cool(fiber* f) noexcept {
  for (fiber* each = f; each != nullptr; each = each->next_free) {
    fiber_release(*each);
    each->context.store(nullptr, std::memory_order_relaxed);
    stack_pool::discard(each->memory);
  }
}

fiber* scheduler::take_cold_fiber() {
  if (n_cold_fibers_.load(std::memory_order_relaxed) == 0) return nullptr;
  fiber* f = nullptr;
  {
    spin_guard guard(fibers_lock_);
    f = cold_fibers_;
    if (f == nullptr) return nullptr;
    cold_fibers_ = f->next_free;
    n_cold_fibers_.store(n_cold_fibers_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  fiber_prepare(*f, loop_entry);
  return f;
}

fiber* scheduler::new_fiber(stack_pool& stacks, void (*entry)()) {
  auto owned = std::make_unique<fiber>();
  const stack memory = stacks.get();
  fiber* f = owned.release();
  f->memory = memory;
  f->home = this;
  f->link = &link();
  f->resume.run = resume_marker;
  f->resume.owner = f;
  fiber_prepare(*f, entry);
  spin_guard guard(fibers_lock_);
  f->next_in_registry = std::exchange(all_fibers_, f);
  return f;
}

fiber* scheduler::take_sized_fiber(unsigned stack_class) noexcept try {
  PLX_ASSERT(stack_class < n_stack_classes, stack_class);
  stack_pool* stacks = nullptr;
  fiber* cold = nullptr;
  {
    spin_guard guard(fibers_lock_);
    auto& sized = sized_[stack_class];
    if (sized == nullptr) sized = std::make_unique<sized_stacks>(bytes_of_stack_class(stack_class), guard_pages_);
    if (fiber* f = sized->free) {
      sized->free = std::exchange(f->next_free, nullptr);
      --sized->n_free;
      return f;
    }
    cold = sized->cold;
    if (cold != nullptr) sized->cold = std::exchange(cold->next_free, nullptr);
    stacks = &sized->stacks;
  }
  if (cold != nullptr) {
    fiber_prepare(*cold, sized_entry);
    return cold;
  }
  fiber* f = new_fiber(*stacks, sized_entry);
  f->stack_class = stack_class;
  return f;
} catch (const std::bad_alloc&) {
  return nullptr;
}

// These stacks are large: a few of each size stay warm, the others return their memory.
void scheduler::keep_sized_fiber(fiber* f) noexcept {
  constexpr unsigned most_warm = 8;
  {
    spin_guard guard(fibers_lock_);
    sized_stacks& sized = *sized_[f->stack_class];
    if (sized.n_free < most_warm) {
      ++sized.n_free;
      f->next_free = std::exchange(sized.free, f);
      return;
    }
  }
  f->next_free = nullptr;
  cool(f);
  spin_guard guard(fibers_lock_);
  f->next_free = std::exchange(sized_[f->stack_class]->cold, f);
}

// Where tasks are suspended on one worker and resumed on another, fibers move between workers. Without a common list
// the first worker would keep creating fibers and the second would accumulate them.
void scheduler::give_common_fibers(worker& w) noexcept {
  fiber* last_kept = w.free_fibers;  // the first ones were used last: their stacks may still be in the cache
  for (unsigned i = 1; i < fiber_batch; ++i) last_kept = last_kept->next_free;
  fiber* first = std::exchange(last_kept->next_free, nullptr);
  fiber* last = first;
  while (last->next_free != nullptr) last = last->next_free;
  w.n_free_fibers = fiber_batch;
  if (n_common_fibers_.load(std::memory_order_relaxed) >= warm_stacks_) {
    cool(first);
    spin_guard guard(fibers_lock_);
    last->next_free = std::exchange(cold_fibers_, first);
    n_cold_fibers_.store(n_cold_fibers_.load(std::memory_order_relaxed) + fiber_batch, std::memory_order_relaxed);
    return;
  }
  spin_guard guard(fibers_lock_);
  last->next_free = std::exchange(common_fibers_, first);
  n_common_fibers_.store(n_common_fibers_.load(std::memory_order_relaxed) + fiber_batch, std::memory_order_relaxed);
}

void scheduler::take_common_fibers(worker& w) noexcept {
  if (n_common_fibers_.load(std::memory_order_relaxed) == 0) return;
  spin_guard guard(fibers_lock_);
  for (; common_fibers_ != nullptr && w.n_free_fibers < fiber_batch; ++w.n_free_fibers) {
    fiber* f = std::exchange(common_fibers_, common_fibers_->next_free);
    f->next_free = std::exchange(w.free_fibers, f);
  }
  n_common_fibers_.store(n_common_fibers_.load(std::memory_order_relaxed) - w.n_free_fibers, std::memory_order_relaxed);
}

}  // namespace plx::detail
