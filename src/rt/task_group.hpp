// Structured parallelism: children that end before their parent continues.
//
// Thread safety: the parent is the task (or external thread) that calls run() first; its children, and the tasks that
// they wait for, may then call run(), too. One task at a time calls wait(), and no child does. Cost: the first children
// of the parent are stored in the group itself, without an allocation; the parent runs those inline that were not
// stolen. A child started by a child costs an allocation and an atomic subtraction more. Example: task_group_test.cpp.
//
// Invariant: `finished_elsewhere_` is the number of children that ended outside the frame of the waiting parent, minus
// the number not started by the parent, plus `announced` while the parent waits, minus the number that the parent
// expects. A child is subtracted before the child that started it can end. So all children have ended exactly when the
// word equals the number that the parent expects; the child that raises it to `announced` wakes the parent.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "rt/async.hpp"

namespace plx {
namespace detail {
struct worker;
struct fiber;
template <class Piece>
class partition;
}  // namespace detail

class task_group {
 public:
  task_group() noexcept = default;
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  /// Waits for the children; a child's exception that was not rethrown by wait() is dropped.
  ~task_group() {
    if (has_children()) wait_for_children();
  }

  /// Starts `f()` as a child. Its captures may refer to the parent's frame. May be called by a child.
  template <class F>
  void run(F&& f) {
    run(task_info{}, std::forward<F>(f));
  }
  /// As above, with a name and a key for measurement. Only such children are timed when the parent runs them inline.
  template <class F>
  void run(task_info info, F&& f) {
    detail::submit_child(make_child(info, std::forward<F>(f), called_by_parent()));
  }
  /// As above, on an executor, which may belong to another runtime.
  template <any_executor E, class F>
  void run(const E& ex, F&& f) {
    detail::execute_on(ex, make_child(detail::info_of(ex), std::forward<F>(f), called_by_parent()));
  }

  /// Waits until all children have ended. Rethrows the first exception of a child. Needs no memory: if there is none
  /// for a stack to switch to, other tasks run on top of the caller's.
  void wait() {
    if (has_children()) wait_for_children();
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
      rethrow();
  }

 private:
  template <class>
  friend class detail::partition;

  /// run(), for a large part of the remaining work: thieves take it as early as possible. For loops.
  template <class F>
  void offer(task_info info, F&& f) {
    detail::offer_task(make_child(info, std::forward<F>(f), true));
  }
  /// The parent resumes on the worker where it waited, if that is free: for a task that repeatedly uses the same data.
  void stay() noexcept { stays_ = true; }

  template <class F>
  struct child final : detail::task {
    child(F&& g, bool p) : f(std::move(g)), pooled(p) {}
    child(const F& g, bool p) : f(g), pooled(p) {}

    static void execute(detail::task* t, detail::run_mode mode) {
      auto* self = static_cast<child*>(t);
      auto* group = const_cast<task_group*>(static_cast<const task_group*>(self->owner));
      const bool pooled = self->pooled;
      try {
        self->f();
      } catch (...) {
        group->keep(std::current_exception());
      }
      // Destroyed before the parent may resume: the child is in the parent's frame.
      self->~child();
      if (pooled) detail::pool_put(self, sizeof(child));
      if (mode == detail::run_mode::scheduled) group->one_finished_elsewhere();
    }

    F f;
    bool pooled;
  };

  template <class F>
  detail::task* make_child(task_info info, F&& f, bool by_parent) {
    using child_type = child<std::decay_t<F>>;
    child_type* c = nullptr;
    if constexpr (alignof(child_type) <= alignof(std::max_align_t) && sizeof(child_type) <= bytes_here) {
      const unsigned used = by_parent ? used_ : sizeof here_;
      const std::size_t at = (used + alignof(child_type) - 1) / alignof(child_type) * alignof(child_type);
      if (at + sizeof(child_type) <= sizeof here_) {
        c = ::new (static_cast<void*>(here_ + at)) child_type(std::forward<F>(f), false);
        used_ = static_cast<unsigned>(at + sizeof(child_type));
      }
    }
    if (c == nullptr) c = detail::pool_new<child_type>(std::forward<F>(f), true);
    c->run = child_type::execute;
    c->owner = this;
    c->info = info;
    if (by_parent)
      ++spawned_;
    else  // relaxed: the caller is a child, whose end is a later release of the same word
      finished_elsewhere_.fetch_sub(1, std::memory_order_relaxed);
    return c;
  }

  /// relaxed: the parent counts its own children in spawned_; a child of theirs is one that they have announced.
  [[nodiscard]] bool has_children() const noexcept {
    return spawned_ != 0 || finished_elsewhere_.load(std::memory_order_relaxed) != 0;
  }
  /// True when the caller may touch what is not atomic. The caller of the first run() becomes the parent.
  bool called_by_parent() noexcept;

  void wait_for_children();
  void one_finished_elsewhere() noexcept;
  void wake_parent(detail::fiber& parent);
  void keep(std::exception_ptr e) noexcept;
  [[noreturn]] void rethrow();
  void wait_elsewhere(std::int64_t expected);
  void wait_without_stack(std::int64_t expected);

  static constexpr std::size_t bytes_here = 192;

  static constexpr std::int64_t announced = std::int64_t{1} << 62;

  std::int64_t spawned_ = 0;  // number since the last wait; accessed by the parent only
  unsigned used_ = 0;         // bytes of here_
  std::atomic<bool> failed_{false};
  std::atomic<std::int64_t> finished_elsewhere_{0};
  const void* parent_ = nullptr;  // the task's identity, or the thread's parker; null: no run() since the last wait
  void* waiting_ = nullptr;       // the parent: a fiber, or a parker when the parent is an external thread
  detail::worker* waits_at_ = nullptr;
  bool waiting_is_thread_ = false;
  bool stays_ = false;
  std::exception_ptr error_;
  detail::origin* ended_ = nullptr;  // join of the children that ended elsewhere
  alignas(std::max_align_t) std::byte here_[bytes_here];
};

/// Calls all functions, in parallel if workers are free, and returns when all calls have returned.
template <class F, class... G>
void parallel_invoke(F&& first, G&&... others) {
  task_group group;
  (group.run(std::forward<G>(others)), ...);
  first();
  group.wait();
}

}  // namespace plx
