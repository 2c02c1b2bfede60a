// From a device's clock to ours. The device's differs in where it begins and a little in how fast it goes: so now and
// then an event is recorded in a stream that is empty, and its moment lies between two looks at our clock.
//
// Thread safety: none. Cost: plain arithmetic. Example: gpu/device_clock_test.cpp
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"

namespace plx::gpu::detail {

class device_clock {
 public:
  [[nodiscard]] bool known() const noexcept { return known_; }

  /// Something happened at `device_s` of the device, not before `before` and not after `after` of ours. Requires: later
  /// than what was observed before, and before <= after.
  void observe(double device_s, ticks before, ticks after) noexcept {
    const double window = static_cast<double>(after - before);
    if (!known_) {
      base_ = before;
      first_s_ = last_s_ = device_s;
      first_ = last_ = window / 2;
      narrowest_ = window;
      known_ = true;
      return;
    }
    const double earliest = static_cast<double>(before - base_), latest = earliest + window;
    // What was known foretells it within a microsecond or so, better than one look. A look that was disturbed tells
    // bounds and no more.
    double now = from_base(device_s);
    if (window <= 2 * narrowest_) now += (earliest + window / 2 - now) / 4;
    now = std::clamp(now, earliest, latest);
    narrowest_ = std::min(narrowest_, window);
    last_s_ = device_s;
    last_ = now;
    if (device_s - first_s_ >= shortest_base_s) rate_ = (last_ - first_) / (last_s_ - first_s_);
  }

  /// Our time of a moment of the device. Requires: known().
  [[nodiscard]] ticks at(double device_s) const noexcept {
    const double t = from_base(device_s);
    return t > 0 ? base_ + static_cast<ticks>(t) : base_ - static_cast<ticks>(-t);
  }

 private:
  static constexpr double shortest_base_s = 1;  // below, half a window says too little of the rate
  [[nodiscard]] double from_base(double device_s) const noexcept { return last_ + (device_s - last_s_) * rate_; }

  bool known_ = false;
  ticks base_ = 0;
  double first_s_ = 0, last_s_ = 0;  // of the device
  double first_ = 0, last_ = 0;      // our ticks since base_
  double narrowest_ = 0;
  double rate_ = ticks_per_second();
};

/// Of the moments first, first + 1, ... before `end`, which `moment(k)` gives in seconds and in order of time, the
/// number of the one nearest to `at_s`. Requires: first < end. Cost: a look at those behind it.
template <class F>
std::uint32_t nearest_moment(std::uint32_t first, std::uint32_t end, double at_s, F&& moment) {
  std::uint32_t k = end - 1;
  while (k > first && at_s - moment(k - 1) < moment(k) - at_s) --k;
  return k;
}

}  // namespace plx::gpu::detail
