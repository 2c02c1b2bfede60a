// Durations and time points of std::chrono as ticks of the scheduler's clock, without including <chrono>.
#pragma once

#include "base/clock.hpp"

namespace plx::detail {

/// The scheduler's clock (virtual in the deterministic mode) now, plus a span; spans under zero count as zero.
ticks deadline_in(double seconds_from_now);

template <class Duration>
double seconds_of(const Duration& d) {
  return static_cast<double>(d.count()) * static_cast<double>(Duration::period::num) /
         static_cast<double>(Duration::period::den);
}

template <class TimePoint>
double seconds_until(const TimePoint& t) {
  return seconds_of(t - TimePoint::clock::now());
}

}  // namespace plx::detail
