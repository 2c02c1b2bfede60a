// The clock of every measurement: a counter of the processor, read in some nanoseconds, and its rate in seconds.
//
// x86-64: the time stamp counter, if its rate is constant and the kernel trusts it; aarch64: cntvct_el0; otherwise
// CLOCK_MONOTONIC in nanoseconds. Threads on different sockets may see counters that differ by some ticks: take the
// difference of two readings by ticks_between(), or compare first.
//
// Thread safety: everything. Cost: now_ticks is one instruction and a test (or clock_gettime, some 20 ns); the first
// call asks the kernel, and the first call of seconds() may measure the rate for up to 5 ms.
// Example: base/test/clock_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace plx {

/// A point or span of time, in steps of the processor's counter.
using ticks = std::uint64_t;

namespace detail {

enum class tick_source : unsigned char { undecided, counter, monotonic };
extern constinit std::atomic<tick_source> tick_source_used;

/// now_ticks() by CLOCK_MONOTONIC, or on the first call.
ticks now_ticks_slowly() noexcept;

/// Whether the time stamp counter is good enough. `invariant`: the processor says that its rate is constant. The others
/// are the contents of the kernel's current_clocksource and available_clocksource, "" where they cannot be read.
bool counter_is_trusted(bool invariant, std::string_view current, std::string_view available) noexcept;

}  // namespace detail

/// The counter now. Not a barrier: the processor may move it by some instructions, which is far below a task's length.
inline ticks now_ticks() noexcept {
#if defined(__x86_64__)
  // relaxed: the value stays the same once it is decided, and guards no data.
  if (detail::tick_source_used.load(std::memory_order_relaxed) == detail::tick_source::counter) [[likely]]
    return __builtin_ia32_rdtsc();
  return detail::now_ticks_slowly();
#elif defined(__aarch64__)
  ticks t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return detail::now_ticks_slowly();
#endif
}

/// From `begin` to `end`; 0 when the counter of another socket is behind, and `end` before `begin`.
constexpr ticks ticks_between(ticks begin, ticks end) noexcept { return end > begin ? end - begin : 0; }

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
