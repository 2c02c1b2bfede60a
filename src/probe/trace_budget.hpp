// Steps tracing down when measuring costs more than was allowed: from every task with its edges to one piece in ten,
// then one in a hundred, then none. Statistics and counters go on. It never steps up again: what a trace holds from a
// moment on, it holds until the end.
//
// Each step is one line as a warning (on stderr when the log has no sink for it) and a mark in the trace.
// Thread safety: look() by one thread at a time, the rest by anyone. Cost of a look: reading the workers' times.
// Example: probe/trace_budget_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace plx::probe {

class recorder;

class trace_budget {
 public:
  /// How often one should look. A span in which the workers' times grow by less than `least_span_s` is joined to the
  /// next one.
  static constexpr double period_s = 0.1, least_span_s = 0.02;

  /// `allowed`: the share of the workers' time that measuring may take, as recorder::measurement_cost() estimates it.
  /// `ring_records`: as given to recorder::trace(). `r` must outlive this.
  trace_budget(recorder& r, double allowed, std::size_t ring_records);

  /// Compares the cost since the last look with what is allowed, and steps down if it was more. Does nothing while no
  /// trace is recorded.
  void look();

  /// What is traced now: 0 everything, 1 one piece in ten, 2 one in a hundred, 3 nothing.
  [[nodiscard]] unsigned step() const noexcept { return step_.load(std::memory_order_relaxed); }

 private:
  struct use {
    double cost_s = 0, all_s = 0;
  };
  [[nodiscard]] use used() const;
  void step_down(double share);

  static constexpr std::array shares{1.0, 0.1, 0.01};

  recorder& recorder_;
  const double allowed_;
  const std::size_t ring_records_;
  use before_;
  std::atomic<unsigned> step_{0};
};

}  // namespace plx::probe
