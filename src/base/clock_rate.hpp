// The rate of the clock as another process measured it, for programs that evaluate a recording: the same recording then
// gives the same numbers each time.
#pragma once

namespace plx {

/// Makes ticks_per_second() return `rate`. Requires: rate > 0, and called by one thread before the first call of
/// ticks_per_second(), seconds() or ticks_from().
void set_ticks_per_second(double rate) noexcept;

}  // namespace plx
