// The queues of tasks: each worker's deque, and locked queues for tasks from outside.
//
// work_deque is the work-stealing deque of Chase and Lev, with the memory orders of Le, Pop, Cohen, Zappa Nardelli
// (PPoPP 2013). Thread safety: push, pop and empty by the owner only; steal by any thread. Cost: push is two stores,
// pop has one full fence, steal has one fence and one compare-and-swap. Read structures_test.cpp as an example.
//
// Invariants: top only grows. bottom is written by the owner alone. The tasks are those in [top, bottom); an entry is
// handed out exactly once: from above only if top < bottom - 1 or the compare-and-swap on top wins, from below only by
// that compare-and-swap. Old buffers stay readable until the deque is destroyed, because a slow thief may still read
// one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "rt/core/spinlock.hpp"
#include "rt/core/task.hpp"

namespace plx::detail {

inline void full_fence() noexcept {
#if defined(PLX_TSAN)
  // ThreadSanitizer does not model fences. A read-modify-write acts as one on the CPU; orders that ThreadSanitizer must
  // see come from read-modify-writes on the words themselves.
  std::atomic<int> nothing{0};
  nothing.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

class work_deque {
 public:
  explicit work_deque(std::int64_t capacity = 1024);  // a power of two
  ~work_deque();
  work_deque(const work_deque&) = delete;
  work_deque& operator=(const work_deque&) = delete;

  void push(task* t) {
    const std::int64_t b = bottom_.load(std::memory_order_relaxed);
    if (b - top_seen_ >= capacity_) [[unlikely]]
      make_room(b);
    entries_[b & (capacity_ - 1)].store(t, std::memory_order_relaxed);
    bottom_.store(b + 1, std::memory_order_release);  // pairs with the acquire in steal(): the entry is visible first
  }

  task* pop() noexcept {
    const std::int64_t b = bottom_.load(std::memory_order_relaxed) - 1;
    if (top_.load(std::memory_order_relaxed) > b) return nullptr;  // top only grows, so this cannot be wrong
#if defined(PLX_TSAN)
    bottom_.exchange(b, std::memory_order_seq_cst);
    std::int64_t t = top_.load(std::memory_order_seq_cst);
#else
    // release: a thief that reads this value sees the entries below it; since C++20 the push's own release is not
    // enough.
    bottom_.store(b, std::memory_order_release);
    full_fence();  // pairs with the fence in steal(): either the thief sees the smaller bottom or we see its top
    std::int64_t t = top_.load(std::memory_order_relaxed);
#endif
    if (t > b) {
      bottom_.store(b + 1, std::memory_order_relaxed);
      return nullptr;
    }
    task* x = entries_[b & (capacity_ - 1)].load(std::memory_order_relaxed);
    if (t == b) {  // the last one: race with the thieves for it
      if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) x = nullptr;
      bottom_.store(b + 1, std::memory_order_relaxed);
    }
    return x;
  }

  /// The entry that pop() would try to take; it may be stolen at any moment, so the pointer must not be followed.
  [[nodiscard]] const task* newest() const noexcept {
    const std::int64_t b = bottom_.load(std::memory_order_relaxed);
    if (b <= top_.load(std::memory_order_relaxed)) return nullptr;
    return entries_[(b - 1) & (capacity_ - 1)].load(std::memory_order_relaxed);
  }

  /// Null when there was nothing or another thief was faster.
  task* steal() noexcept;

  /// The newest task and all below it may be stolen immediately, one by one: they are large and meant for thieves.
  void offer_all() noexcept {
    offered_.store(bottom_.load(std::memory_order_relaxed), std::memory_order_relaxed);  // a hint, no order needed
  }
  [[nodiscard]] bool oldest_is_offered() const noexcept { return oldest() < offered_.load(std::memory_order_relaxed); }

  /// The number of tasks taken from this end so far: while it is unchanged, so is the oldest task.
  [[nodiscard]] std::int64_t oldest() const noexcept { return top_.load(std::memory_order_relaxed); }

  /// Exact for the owner; a hint for others.
  [[nodiscard]] bool empty() const noexcept { return size() <= 0; }
  [[nodiscard]] std::int64_t size() const noexcept {
    return bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed);
  }

 private:
  struct buffer;
  void make_room(std::int64_t bottom);
  void adopt(buffer* b) noexcept;

  // The owner's line: read and written at every push and pop.
  alignas(cache_line_bytes) std::atomic<std::int64_t> bottom_{0};
  std::atomic<std::int64_t> offered_{0};
  std::int64_t top_seen_ = 0;  // a past value of top_, so that push need not touch the thieves' line
  std::int64_t capacity_ = 0;
  std::atomic<task*>* entries_ = nullptr;
  buffer* owned_ = nullptr;  // newest; older ones hang behind it
  // The thieves' line.
  alignas(cache_line_bytes) std::atomic<std::int64_t> top_{0};
  std::atomic<buffer*> shared_{nullptr};
};

/// A FIFO queue of tasks: those submitted from outside, and those with a priority or a worker of their own.
/// Thread-safe. Cost: a spinlock per push and pop; one load to see that it is empty.
class alignas(cache_line_bytes) task_queue {
 public:
  void push(task* t) noexcept {
    t->next = nullptr;
    spin_guard guard(lock_);
    (last_ != nullptr ? last_->next : first_) = t;
    last_ = t;
    n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }
  /// The oldest, or null.
  task* pop() noexcept {
    if (empty()) return nullptr;
    spin_guard guard(lock_);
    task* t = first_;
    if (t == nullptr) return nullptr;
    first_ = t->next;
    if (first_ == nullptr) last_ = nullptr;
    n_.store(n_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return t;
  }
  /// At most `n` of the oldest tasks, linked by `next`. A task with a placement of its own is returned alone (it must
  /// not be in a deque). Null also when another thread is using the queue.
  task* pop_some(std::size_t n) noexcept {
    if (empty() || !lock_.try_lock()) return nullptr;
    task* const oldest = first_;
    task* last = nullptr;
    std::size_t taken = 0;
    for (; taken < n && first_ != nullptr && (taken == 0 || first_->info.where.ordinary()); ++taken)
      last = std::exchange(first_, first_->next);
    if (last != nullptr) last->next = nullptr;
    if (first_ == nullptr) last_ = nullptr;
    n_.store(n_.load(std::memory_order_relaxed) - taken, std::memory_order_relaxed);
    lock_.unlock();
    return oldest;
  }
  [[nodiscard]] bool empty() const noexcept { return n_.load(std::memory_order_relaxed) == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return n_.load(std::memory_order_relaxed); }

 private:
  spinlock lock_;
  task* first_ = nullptr;
  task* last_ = nullptr;
  // On its own cache line: every worker reads it at every task, and it is rarely written.
  alignas(cache_line_bytes) std::atomic<std::size_t> n_{0};
};

}  // namespace plx::detail
