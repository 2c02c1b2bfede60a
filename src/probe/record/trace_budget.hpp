// Reduces tracing while measurement costs more than allowed, per task type: the types whose records cost most go from
// all slices with edges to one slice in ten, then one in a hundred, then none. Each check lowers a type by at most one
// step, and as many types as the excess requires. Statistics and counters are unaffected. Tracing is never increased
// again.
//
// Each check that reduces tracing logs a warning (on stderr if the log has no sink for it) and adds a mark to the
// trace.
// Thread safety: look() by one thread at a time, the rest by any thread. Cost of a check: reading the workers' times
// and the statistics of all names.
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
  /// The recommended period of checks. An interval in which the workers' times grow by less than `least_span_s` is
  /// merged with the next one.
  static constexpr double period_s = 0.1, least_span_s = 0.02;

  /// `allowed`: the share of the workers' time that measurement may take, as estimated by recorder::measurement_cost().
  /// `r` must outlive this object.
  trace_budget(recorder& r, double allowed);

  /// Compares the cost since the last check with the allowed share, and reduces tracing if it was higher. No effect
  /// while no trace is recorded.
  void look();

  /// The highest step of any task type: 0 everything is traced, 1 one slice in ten, 2 one in a hundred, 3 none.
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
