// The clock of every measurement: a counter of the processor, read in some nanoseconds, and its rate in seconds.
//
// Thread safety: everything. Cost: now_ticks is one instruction (x86-64: rdtsc, aarch64: cntvct_el0) or, elsewhere,
// clock_gettime; the first call of seconds() may measure the rate for up to 5 ms.
// Example: base/clock_test.cpp
#pragma once

#include <cstdint>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ctime>
#endif

namespace plx {

/// A point or span of time, in steps of the processor's counter.
using ticks = std::uint64_t;

/// The counter now. Not a barrier: the processor may move it by some instructions, which is far below a task's length.
inline ticks now_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  ticks t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  std::timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<ticks>(t.tv_sec) * 1'000'000'000u + static_cast<ticks>(t.tv_nsec);
#endif
}

/// Ticks per second: the architecture's own value where it tells one, else measured once against CLOCK_MONOTONIC (to
/// about 10 parts in a million) and then constant for the life of the process.
double ticks_per_second() noexcept;

/// The length in seconds of a span of ticks.
double seconds(ticks span) noexcept;

/// The span of ticks nearest to `s` seconds; 0 for what is not positive.
ticks ticks_from(double s) noexcept;

/// CLOCK_MONOTONIC in seconds: for time stamps that other programs can relate to.
double monotonic_seconds() noexcept;

}  // namespace plx
