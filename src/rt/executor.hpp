// Executors: where, when and under which name tasks run. An executor is a handle to a runtime with a priority, a
// worker, a stack size and a name; adapters on top of another executor limit concurrency or preserve an order.
//
//   plx::executor ex = rt.get_executor().with_priority(plx::priority::high).with_name("gravity");
//   plx::future<int> f = plx::async(ex, work, 42);  // also: f.then(ex, g), dataflow(ex, ...), group.run(ex, ...)
//   plx::limiting_executor few(ex, 4);              // at most 4 of its tasks at once
//   plx::strand in_order(ex);                       // one after another, in the order of submission
//
// A handle does not keep its runtime alive. Using one after its runtime has ended fails an assertion. A continuation
// that was attached before is no error: it then runs in the frame that completes its future.
// Thread safety: everything; handles are values. Cost: executor as async; limiting_executor and strand additionally
// take one block from the pool and a spinlock per task. Example: executor_test.cpp, examples/08_executors.cpp.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "rt/any_executor.hpp"
#include "rt/async.hpp"

namespace plx {

class runtime;

/// A runtime, and the name, key and placement of the tasks submitted through this executor.
class executor {
 public:
  /// The runtime of the caller; on an external thread, the oldest living one.
  executor();

  /// high: before all other tasks; low: only when a worker would otherwise be idle.
  [[nodiscard]] executor with_priority(priority p) const noexcept;
  /// Rounded up to 16, 32, 64, ... KiB. Requires: at most 2^31 * 4 KiB.
  [[nodiscard]] executor with_stack_size(std::size_t bytes) const noexcept;
  /// Tasks run on this worker only, also after a wait. Requires: worker < worker_count().
  [[nodiscard]] executor with_affinity(unsigned worker) const noexcept;
  /// The name of the tasks in measurements.
  [[nodiscard]] executor with_name(std::string_view name) const;
  /// The key of the tasks in measurements: the object that they work on.
  [[nodiscard]] executor with_key(std::uint64_t key) const noexcept;

  /// Runs `f()` as a detached task; an exception thrown by it ends the program.
  template <class F>
  void post(F&& f) const {
    execute(detail::make_posted(info_, std::forward<F>(f)));
  }

  /// The number of workers of its runtime.
  [[nodiscard]] unsigned worker_count() const;
  /// Name, key and placement of its tasks.
  [[nodiscard]] task_info info() const noexcept { return info_; }
  friend bool operator==(const executor&, const executor&) noexcept = default;

  /// Internal: `t` becomes a task of this executor's runtime; its info is unchanged.
  void execute(detail::task* t) const;
  /// Internal: execute() for a continuation, which the caller runs inline if the runtime has ended.
  void execute_late(detail::task* t) const;

 private:
  explicit executor(detail::scheduler& home) noexcept;
  friend class runtime;

  detail::home_link* home_;
  task_info info_{};
};

/// The executor of the caller's runtime; on an external thread, of the oldest living one.
inline executor default_executor() { return {}; }

namespace detail {

struct limit;  // shared by the copies of a limiting_executor

class limit_ref {
 public:
  limit_ref(const executor& ex, std::size_t units);
  limit_ref(const limit_ref& o) noexcept;
  limit_ref& operator=(const limit_ref& o) noexcept;
  ~limit_ref();
  [[nodiscard]] limit* get() const noexcept { return limit_; }

 private:
  limit* limit_;
};

}  // namespace detail

/// Runs tasks on another executor such that together they use at most `units` of some resource. By default each task
/// uses one unit, so that at most `units` tasks run at once. Other tasks queue in submission order without occupying a
/// worker. A suspended task keeps its units; a coroutine releases them when it waits by co_await.
class limiting_executor {
 public:
  /// Requires: units > 0.
  limiting_executor(const executor& ex, std::size_t units) : limit_(ex, units) {}

  /// The same limit, with `per_task` units per task (bytes of memory, say). Requires: per_task <= the limit.
  [[nodiscard]] limiting_executor with_units(std::size_t per_task) const;

  /// Runs `f()` as a detached task; an exception thrown by it ends the program.
  template <class F>
  void post(F&& f) const {
    execute(detail::make_posted(info(), std::forward<F>(f)));
  }
  /// Name, key and placement of its tasks.
  [[nodiscard]] task_info info() const noexcept;
  /// Equal if they share a limit and use the same number of units per task.
  friend bool operator==(const limiting_executor& a, const limiting_executor& b) noexcept {
    return a.limit_.get() == b.limit_.get() && a.per_task_ == b.per_task_;
  }
  /// Internal: `t` becomes a task of this executor.
  void execute(detail::task* t) const;
  /// Internal: execute() for a continuation, which the caller runs inline if the runtime has ended.
  void execute_late(detail::task* t) const;

 private:
  detail::limit_ref limit_;
  std::size_t per_task_ = 1;
};

/// Runs its tasks one at a time, in submission order, each after the previous one has returned. Tasks of a strand need
/// no lock among each other.
class strand : public limiting_executor {
 public:
  explicit strand(const executor& ex = {}) : limiting_executor(ex, 1) {}
};

/// Calls inline, in the caller's frame: async(sequenced_executor(), f) is a plain call whose result is a ready future.
struct sequenced_executor {
  /// Calls `f()`; an exception thrown by it ends the program.
  template <class F>
  void post(F&& f) const noexcept {
    std::forward<F>(f)();
  }
  /// Internal: calls `t`.
  void execute(detail::task* t) const noexcept { t->run(t, detail::run_mode::scheduled); }
  friend bool operator==(const sequenced_executor&, const sequenced_executor&) noexcept = default;
};

/// Runs `f(args...)` on `ex` and returns the future of its result.
template <class E, class F, class... A>
requires detail::is_executor<E> future<detail::async_result<F, A...>> async(const E& ex, F&& f, A&&... args) {
  auto* s = detail::make_async(detail::info_of(ex), std::forward<F>(f), std::forward<A>(args)...);
  auto result = detail::adopt_state<detail::async_result<F, A...>>(s);
  if constexpr (std::is_same_v<E, executor>)
    detail::execute_on(ex, s->as_task());
  else
    detail::execute_on(ex, s->alone());
  return result;
}

/// Runs `f()` on `ex` as a detached task. An exception thrown by it ends the program.
template <class E, class F>
requires detail::is_executor<E>
void post(const E& ex, F&& f) { ex.post(std::forward<F>(f)); }

}  // namespace plx
