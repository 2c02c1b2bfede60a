// A FIFO queue of tasks: those submitted from outside, and those with a priority or a worker of their own.
//
// Thread-safe. Cost: a spinlock per push and pop; one load to see that it is empty.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "rt/core/spinlock.hpp"
#include "rt/core/task.hpp"

namespace plx::detail {

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
