// The runtime: workers, their measurement, and the door through which a program enters.
//
//   plx::runtime rt;                                    // one worker per core that this process may use
//   int x = rt.run([] { return plx::async(f).get(); });  // from main or any other thread
//
// Several runtimes may live in one process; each has its own workers, counters and statistics. Tasks made by a task
// stay in its runtime. Tasks made by a foreign thread go to the oldest living runtime, or to the one it names by run()
// or post(). Destroying a runtime waits until all its tasks have ended.
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

/// Nothing inside a deterministic runtime can go on any more. The message names the seed and who waits on what.
class deadlock_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class executor;  // rt/executor.hpp

class runtime {
 public:
  explicit runtime(runtime_options options = {});
  /// Waits for all tasks. Tasks that nothing can wake any more are reported and abandoned.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Runs `f()` as a task, waits for it, and gives what it returns or throws. From a foreign thread,
  /// or a task of another runtime.
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
  /// Runs `f()` as a task of this runtime, from anywhere, without waiting.
  template <class F>
  void post(F&& f) {
    inject(detail::make_posted({}, std::forward<F>(f)));
  }

  /// Where tasks of this runtime are made; see rt/executor.hpp.
  [[nodiscard]] executor get_executor() noexcept;

  /// Workers, virtual ones of the deterministic mode too.
  [[nodiscard]] unsigned worker_count() const noexcept;
  /// What the workers have measured.
  [[nodiscard]] probe::recorder& recorder() noexcept;
  /// The counters of this runtime, and those that a program adds.
  [[nodiscard]] probe::counter_registry& counters();
  /// For libraries that are built upon the runtime: `add(arg, registry)` is called when somebody asks for counters for
  /// the first time, or now if that has been; what it registers goes with the runtime. Requires: no wait in it.
  void when_counted(std::vector<probe::registration> (*add)(void* arg, probe::counter_registry& r), void* arg);
  /// What of this runtime can be set while it runs, such as `worker-cap`, and what a program adds
  /// (control/actuator.hpp).
  [[nodiscard]] probe::actuator_registry& actuators();
  /// The policies of this runtime (control/policy.hpp). They are called until the destructor has run all tasks.
  [[nodiscard]] probe::policy_registry& policies();
  /// The measurement that the settings asked for; null when they asked for nothing.
  [[nodiscard]] probe::session* session() noexcept;
  /// The options as they took effect (workers and seed filled in).
  [[nodiscard]] const runtime_options& options() const noexcept;

  /// One line per worker: the processors it is bound to, their core and NUMA node.
  [[nodiscard]] std::string bindings() const;

  /// Calls `f(arg)` now and then between tasks and when workers idle, by one worker at a time, until it is removed.
  std::uint64_t add_poller(poll_result (*f)(void*), void* arg);
  /// When it returns, the poller is not running and never will be.
  void remove_poller(std::uint64_t id);
  /// A poller that said `idle` has something to do now: a sleeping worker gets up to ask it.
  void ask_pollers() noexcept;

  /// For libraries that are built upon the runtime.
  [[nodiscard]] detail::scheduler& get_scheduler() noexcept;

  /// Who waits on what, at any time: each suspended task with its name, key, what it waits on, who holds that if it is
  /// known, and where in the program it waits (lines where the program has debug information, -g1 is enough). Tasks at
  /// the same place are one entry. Tasks that wait for each other come first, as DEADLOCK. "" when no task is
  /// suspended. While tasks run, it may be out of date. Cost: milliseconds and more, growing with the suspended tasks.
  [[nodiscard]] std::string explain_waits() const;

 private:
  void run_to_end(detail::task* t, detail::future_state_base& end);
  void inject(detail::task* t);

  struct parts;
  std::unique_ptr<parts> parts_;
};

/// The number of the worker that the caller runs on, 0 .. worker_count()-1; nothing on a thread that is no worker.
/// May change whenever the caller waits.
std::optional<unsigned> worker_index() noexcept;

}  // namespace plx
