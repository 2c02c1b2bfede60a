// Steps tracing down when measuring costs more than was allowed, kind of task by kind of task: those whose records cost
// most go first from every task with its edges to one piece in ten, then one in a hundred, then none, each by one step
// a look, and as many of them as the excess asks for. Statistics and counters go on. It never steps up again: what a
// trace holds of a kind from a moment on, it holds until the end.
//
// Each look that changes something is one line as a warning (on stderr when the log has no sink for it) and a mark in
// the trace.
// Thread safety: look() by one thread at a time, the rest by anyone. Cost of a look: reading the workers' times and the
// statistics of all names.
// Example: session/test/trace_budget_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "probe/record/names.hpp"

namespace plx::probe {

class recorder;

class trace_budget {
 public:
  /// How often one should look. A span in which the workers' times grow by less than `least_span_s` is joined to the
  /// next one.
  static constexpr double period_s = 0.1, least_span_s = 0.02;

  /// `allowed`: the share of the workers' time that measuring may take, as recorder::measurement_cost() estimates it.
  /// `r` must outlive this.
  trace_budget(recorder& r, double allowed);

  /// Compares the cost since the last look with what is allowed, and steps down if it was more. Does nothing while no
  /// trace is recorded.
  void look();

  /// Of the kind that was stepped down most: 0 everything is traced, 1 one piece in ten, 2 one in a hundred, 3 none.
  [[nodiscard]] unsigned step() const noexcept { return step_.load(std::memory_order_relaxed); }

 private:
  struct use {
    double cost_s = 0, all_s = 0;
    std::vector<std::uint64_t> pieces;  // by name
  };
  struct kind {
    name_id name;
    double weight;  // of the records of a span
  };
  [[nodiscard]] use used() const;
  [[nodiscard]] std::vector<kind> traced_kinds(const use& now) const;
  void step_down(double share, const std::vector<kind>& kinds);
  void warn(double share, const std::string& what);
  [[nodiscard]] std::uint8_t& step_of(name_id name);

  static constexpr std::array shares{1.0, 0.1, 0.01, 0.0};

  recorder& recorder_;
  const double allowed_;
  use before_;
  std::vector<std::uint8_t> steps_;  // by name
  bool ended_ = false;
  std::atomic<unsigned> step_{0};
};

}  // namespace plx::probe
