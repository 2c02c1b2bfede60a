// The runtime: workers, their measurement, and the functions by which a program submits its first tasks.
//
//   plx::runtime rt;                                    // one worker per core that this process may use
//   int x = rt.run([] { return plx::async(f).get(); });  // from main or any other thread
//
// Several runtimes may live in one process; each has its own workers, counters and statistics. A task created by a task
// stays in the same runtime. A task created by an external thread goes to the oldest living runtime, unless run() or
// post() names another one. Destroying a runtime waits until all its tasks have ended.
// Thread safety: run, post and the accessors from any thread. Example: runtime_test.cpp, examples/01_hello_task.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rt/async.hpp"
#include "rt/runtime_options.hpp"

namespace plx {

namespace probe {
class recorder;
class counter_registry;
class registration;
class actuator_registry;
class policy_registry;
class session;
}  // namespace probe
namespace detail {
class scheduler;
}  // namespace detail

/// No task of a deterministic runtime can continue. The message contains the seed and what each task waits for.
class deadlock_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class executor;  // rt/executor.hpp

class runtime {
 public:
  explicit runtime(runtime_options options = {});
  /// Waits for all tasks. Tasks that can no longer be woken are reported and abandoned.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Runs `f()` as a task, waits for it, and returns its result or rethrows its exception. Called from an external
  /// thread or a task of another runtime.
  template <class F>
  auto run(F&& f) {
    return run(task_info{}, std::forward<F>(f));
  }
  template <class F>
  auto run(task_info info, F&& f) {
    using R = std::invoke_result_t<std::decay_t<F>>;
    auto* s = detail::make_async(info, std::forward<F>(f));
    auto result = detail::adopt_state<R>(s);
    run_to_end(s->alone(), *s);
    return result.get();
  }
  /// Runs `f()` as a task of this runtime, without waiting. Called from any thread.
  template <class F>
  void post(F&& f) {
    inject(detail::make_posted({}, std::forward<F>(f)));
  }

  /// The executor that submits tasks to this runtime; see rt/executor.hpp.
  [[nodiscard]] executor get_executor() noexcept;

  /// The number of workers, including the virtual ones of the deterministic mode.
  [[nodiscard]] unsigned worker_count() const noexcept;
  /// The measurements of the workers.
  [[nodiscard]] probe::recorder& recorder() noexcept;
  /// The counters of this runtime, including those that the program registers.
  [[nodiscard]] probe::counter_registry& counters();
  /// For libraries on top of the runtime: `add(arg, registry)` is called when the counters are first requested, or
  /// immediately if they have been; what it registers is removed with the runtime. Requires: `add` does not wait.
  void when_counted(std::vector<probe::registration> (*add)(void* arg, probe::counter_registry& r), void* arg);
  /// The settings that can be changed while the runtime runs, such as `worker-cap`, including those that a program adds
  /// (control/actuator.hpp).
  [[nodiscard]] probe::actuator_registry& actuators();
  /// The policies of this runtime (control/policy.hpp). They run until the destructor has completed all tasks.
  [[nodiscard]] probe::policy_registry& policies();
  /// The measurement session that the settings requested; null if they requested none.
  [[nodiscard]] probe::session* session() noexcept;
  /// The effective options (workers and seed filled in).
  [[nodiscard]] const runtime_options& options() const noexcept;

  /// One line per worker: the processors it is bound to, their core and NUMA node.
  [[nodiscard]] std::string bindings() const;

  /// Calls `f(arg)` repeatedly between tasks and while workers are idle, on one worker at a time, until it is removed.
  /// Requires: `f` neither waits nor throws, and adds or removes no poller.
  std::uint64_t add_poller(poll_result (*f)(void*), void* arg);
  /// On return, the poller is not running and will not be called again.
  void remove_poller(std::uint64_t id);
  /// Wakes a sleeping worker to call the pollers; for a poller that returned `idle` and now has work.
  void ask_pollers() noexcept;

  /// For libraries on top of the runtime.
  [[nodiscard]] detail::scheduler& get_scheduler() noexcept;

  /// Reports what each suspended task waits for: its name, key, the object it waits for, the holder of that object
  /// if known, and the place in the program (with line numbers if there is debug information; -g1 is enough). Tasks at
  /// the same place share one entry. Tasks that wait for each other come first, marked DEADLOCK. "" if no task is
  /// suspended. While tasks run, the report may be out of date. Cost: milliseconds and more, growing with the number of
  /// suspended tasks.
  [[nodiscard]] std::string explain_waits() const;

 private:
  void run_to_end(detail::task* t, detail::future_state_base& end);
  void inject(detail::task* t);

  struct parts;
  std::unique_ptr<parts> parts_;
};

/// The index of the worker that the caller runs on, 0 .. worker_count()-1; nullopt on a thread that is not a worker.
/// May change whenever the caller waits.
std::optional<unsigned> worker_index() noexcept;

}  // namespace plx
