// One thread that calls functions again and again: draining traces, printing counters, periodic policies, monitors.
//
// Thread safety: everything; functions run one at a time, on a thread of that name that exists while there are
// functions. Cost: a sleep between calls. A function that throws is taken out and reported in the log.
// Example: probe/counters/test/beat_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace plx::probe {

class beat {
 public:
  /// `thread_name`: at most 15 characters, and a literal.
  explicit beat(const char* thread_name = "plx-probe");
  /// Waits for the function that runs now.
  ~beat();
  beat(const beat&) = delete;
  beat& operator=(const beat&) = delete;

  /// Calls `f()` every `period_s` seconds, first after one period. Calls that come late are not made up for.
  /// Requires: period_s > 0.
  template <class F>
  std::uint64_t every(double period_s, F f) {
    return add(period_s, std::make_unique<task_of<F>>(std::move(f)));
  }
  /// Processor seconds that the functions took so far, without the one that runs.
  double busy_s() const;
  /// When it returns, the function does not run and never will; called by the function itself, after this call.
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
