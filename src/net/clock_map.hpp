// The time of another process's clock in terms of one's own: each processor's counter starts somewhere, and runs at a
// rate of its own.
//
// A question for the time and its answer give a point: while the other clock said `there`, this one was between `asked`
// and `answered`, so it was at their middle, give or take half of the round trip (Cristian 1989). Of many exchanges the
// one with the shortest round trip is kept, for the others were delayed by something. Between two points the map is the
// line through them, which takes the drift with it; before the first and behind the last it goes on at the rate that
// all points tell, or, where they lie too close together for that, at the nominal one.
//
// Invariants: both coordinates grow from point to point, so the map grows strictly: no clock runs backwards. For a
// clock of constant rate its error between two points is at most the larger one of their uncertainties, whatever the
// delays of the two ways are. Thread safety: values. Cost: a binary search among the points. Example:
// net/clock_map_test.cpp
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"

namespace plx::net {

/// One exchange: when it was asked and answered by the asker's clock, and what the other one said in between.
struct clock_exchange {
  ticks asked = 0;
  ticks there = 0;
  ticks answered = 0;
};

/// While the other clock said `there`, this one said `here`, give or take `uncertainty` ticks.
struct clock_point {
  ticks there = 0;
  ticks here = 0;
  ticks uncertainty = 0;
};

/// What the exchange with the shortest round trip says; nothing when there is none that ends after it began.
std::optional<clock_point> best_point(std::span<const clock_exchange> exchanges) noexcept;

class clock_map {
 public:
  /// That of a clock with itself: no points, and nothing changes.
  clock_map() = default;
  /// Both rates in ticks per second, as each side has measured its own. Requires: both > 0.
  clock_map(double rate_here, double rate_there) noexcept : rate_here_(rate_here), rate_there_(rate_there) {}

  /// A later point. One that does not lie behind the last one by both clocks is left out: then it gives false.
  bool add(const clock_point& p);
  /// Whether it knows anything of the other clock.
  [[nodiscard]] bool known() const noexcept { return !points_.empty(); }
  [[nodiscard]] const std::vector<clock_point>& points() const noexcept { return points_; }

  /// This clock's time when the other one said `there`; `there` itself while nothing is known. Never negative.
  [[nodiscard]] ticks operator()(ticks there) const noexcept;
  /// How much this clock was ahead of the other one at the first point, seconds since each began to count.
  [[nodiscard]] double offset_s() const noexcept;
  /// How much faster this clock runs than the other, beyond what both say of their rates: 1e-6 is a microsecond per
  /// second. 0 where the points lie too close together to tell.
  [[nodiscard]] double drift() const noexcept;
  /// The largest error at a point, seconds: half of its round trip.
  [[nodiscard]] double uncertainty_s() const noexcept;

 private:
  [[nodiscard]] double nominal() const noexcept { return rate_here_ / rate_there_; }
  [[nodiscard]] double overall() const noexcept;

  double rate_here_ = 1, rate_there_ = 1;
  std::vector<clock_point> points_;
};

}  // namespace plx::net
