// Converts times of another process's clock to this process's clock. The counters of two processors start at different
// values and run at different rates.
//
// Points of the map come from exchanges of messages (net/observe/clock_offsets.hpp). Between two points the map is
// linear, which accounts for drift; before the first and after the last point it continues at the rate that all points
// give or, if they are too close together for that, at the nominal rate.
//
// Invariants: both coordinates increase from point to point, so the map is strictly increasing: no clock runs
// backwards. For a clock of constant rate, its error between two points is at most the larger of their uncertainties,
// whatever the delays in the two directions. Thread safety: values. Cost: a binary search among the points. Example:
// net/observe/test/clock_map_test.cpp
#pragma once

#include <vector>

#include "base/clock.hpp"
#include "probe/record/trace_sink.hpp"

namespace plx::probe {

class clock_map {
 public:
  /// The map of a clock to itself: no points; times are unchanged.
  clock_map() = default;
  /// Both rates in ticks per second, as each process has measured its own. Requires: both > 0.
  clock_map(double rate_here, double rate_there) noexcept : rate_here_(rate_here), rate_there_(rate_there) {}

  /// Adds a later point. Returns false and ignores it if it is not later than the last one by both clocks.
  bool add(const clock_point& p);
  /// Whether there is a point.
  [[nodiscard]] bool known() const noexcept { return !points_.empty(); }
  /// In order of time.
  [[nodiscard]] const std::vector<clock_point>& points() const noexcept { return points_; }

  /// This clock's time for the reading `there` of the other; `there` itself without a point. Never negative.
  [[nodiscard]] ticks operator()(ticks there) const noexcept;
  /// How much this clock was ahead of the other at the first point, in seconds since each started.
  [[nodiscard]] double offset_s() const noexcept;
  /// How much faster this clock runs than the other, relative to the nominal rates: 1e-6 is a microsecond per second. 0
  /// if the points are too close together to determine it.
  [[nodiscard]] double drift() const noexcept;
  /// The largest uncertainty of a point, in seconds.
  [[nodiscard]] double uncertainty_s() const noexcept;
  /// A bound of the error of the conversion of `there`, in ticks of this clock, for clocks of constant rate: that of
  /// the points; before the first and after the last one also that of the rate. Requires: known().
  [[nodiscard]] ticks uncertainty_at(ticks there) const noexcept;

 private:
  [[nodiscard]] double nominal() const noexcept { return rate_here_ / rate_there_; }
  [[nodiscard]] double overall() const noexcept;

  double rate_here_ = 1, rate_there_ = 1;
  std::vector<clock_point> points_;
};

}  // namespace plx::probe
