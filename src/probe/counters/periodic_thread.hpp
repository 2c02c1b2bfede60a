// A thread that calls functions periodically: draining traces, printing counters, periodic policies, monitors.
//
// Thread safety: all functions are thread-safe; the functions run one at a time, on a thread of the given name that
// exists while there are functions. Cost: a sleep between calls. A function that throws is removed and reported in the
// log.
// Example: probe/counters/test/periodic_thread_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace plx::probe {

class periodic_thread {
 public:
  /// `thread_name`: a literal of at most 15 characters.
  explicit periodic_thread(const char* thread_name = "plx-probe");
  /// Waits for the function in progress.
  ~periodic_thread();
  periodic_thread(const periodic_thread&) = delete;
  periodic_thread& operator=(const periodic_thread&) = delete;

  /// Calls `f()` every `period_s` seconds, first after one period. Missed calls are skipped.
  /// Requires: period_s > 0.
  template <class F>
  std::uint64_t every(double period_s, F f) {
    return add(period_s, std::make_unique<task_of<F>>(std::move(f)));
  }
  /// Processor time of the functions so far, in seconds, without the call in progress.
  double busy_s() const;
  /// After it returns, the function is not running and will not be called again; if the function calls it itself, this
  /// holds after that call.
  void remove(std::uint64_t id);

 private:
  struct task {
    virtual ~task() = default;
    virtual void call() = 0;
  };
  template <class F>
  struct task_of final : task {
    explicit task_of(F g) : f(std::move(g)) {}
    void call() override { f(); }
    F f;
  };
  std::uint64_t add(double period_s, std::unique_ptr<task> t);

  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
