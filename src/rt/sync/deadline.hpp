// The ends of timed waits: durations and time points of any clock, converted to ticks of the scheduler's clock, without
// including <chrono>.
//
// A time point of another clock is converted when the wait begins. At the end of the wait its clock is read again: it
// may run at another rate, or may have been set back.
// Thread safety: as a plain value. Cost: reading the clock twice. Example: timed_test.cpp.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace plx::detail {

/// The scheduler's clock (virtual in the deterministic mode) now, plus a span; a negative span counts as zero.
ticks deadline_in(double seconds_from_now);

template <class Duration>
double seconds_of(const Duration& d) {
  return static_cast<double>(d.count()) * static_cast<double>(Duration::period::num) /
         static_cast<double>(Duration::period::den);
}

template <class C>
concept clock_type = requires {
  typename C::rep;
  typename C::period;
  typename C::duration;
  typename C::time_point;
  C::is_steady;
  C::now();
};

/// The time until `t` on its own clock; 0 if and only if the clock has reached `t`.
template <class TimePoint>
double seconds_until(const TimePoint& t) {
  using clock = typename TimePoint::clock;
  static_assert(clock_type<clock>, "a timed wait needs a time point of a clock (std::chrono::is_clock)");
  constexpr double near_s = 1e6;
  const auto now = clock::now();
  const double left_s = seconds_of(t.time_since_epoch()) - seconds_of(now.time_since_epoch());
  // The difference of two distant time points may overflow, as for time_point::min().
  if (!(left_s > -near_s)) return 0;
  if (left_s > near_s) return left_s;
  return now < t ? seconds_of(t - now) : 0;
}

/// The end of one timed wait.
class time_limit {
 public:
  template <class Duration>
  static time_limit after(const Duration& d) {
    return time_limit(seconds_of(d));
  }
  /// Requires: `t` outlives the time_limit.
  template <class TimePoint>
  static time_limit at(const TimePoint& t) {
    return time_limit(__builtin_addressof(t),
                      [](const void* p) { return seconds_until(*static_cast<const TimePoint*>(p)); });
  }

  /// The end on the scheduler's clock.
  [[nodiscard]] ticks deadline() const noexcept { return deadline_; }
  /// The remaining time at the last reading of the clock; 0 if the limit had passed.
  [[nodiscard]] double left_s() const noexcept { return left_s_; }
  /// Reads the clock of the limit again, after deadline() has passed. If that clock has not reached the limit, returns
  /// false and sets a later deadline(). Always true in the deterministic mode, which has one clock.
  [[nodiscard]] bool passed();

 private:
  using seconds_left = double (*)(const void* time_point);
  explicit time_limit(double span_s);
  time_limit(const void* time_point, seconds_left left);

  ticks deadline_;
  const void* time_point_ = nullptr;
  seconds_left left_ = nullptr;        // null for a duration
  std::int64_t monotonic_end_ns_ = 0;  // end of a duration on CLOCK_MONOTONIC
  double left_s_ = 0;
};

/// Calls `wait(deadline)` until it returns true or the limit has passed. Returns whether it returned true.
template <class Wait>
bool wait_within(time_limit limit, Wait&& wait) {
  do {
    if (wait(limit.deadline())) return true;
  } while (!limit.passed());
  return false;
}

}  // namespace plx::detail
