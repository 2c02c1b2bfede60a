// The clock of all measurements: a hardware counter, read in a few nanoseconds, and its rate in ticks per second.
//
// x86-64: the time stamp counter, if its rate is constant and the kernel trusts it; aarch64: cntvct_el0; otherwise
// CLOCK_MONOTONIC in nanoseconds. Threads on different sockets may see counters that differ by a few ticks: subtract
// two readings with ticks_between(), or compare first.
//
// Thread safety: all functions are thread-safe. Cost: now_ticks() takes one instruction and a test (or clock_gettime,
// about 20 ns); the first call queries the kernel, and the first call of seconds() may measure the rate for up to 5 ms.
// Example: base/test/clock_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace plx {

/// A point in time or a duration, in ticks of the hardware counter.
using ticks = std::uint64_t;

namespace detail {

enum class tick_source : unsigned char { undecided, counter, monotonic };
extern constinit std::atomic<tick_source> tick_source_used;

/// now_ticks() on the first call, or with CLOCK_MONOTONIC.
ticks now_ticks_slowly() noexcept;

/// Whether the time stamp counter is usable. `invariant`: the processor reports a constant rate. `current` and
/// `available`: the contents of the kernel's current_clocksource and available_clocksource, "" if unreadable.
bool counter_is_trusted(bool invariant, std::string_view current, std::string_view available) noexcept;

}  // namespace detail

/// The current counter value. Not a barrier: the processor may reorder the read by a few instructions, far less than
/// the length of a task.
inline ticks now_ticks() noexcept {
#if defined(__x86_64__)
  // relaxed: the value does not change once it is decided, and guards no data.
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

/// Ticks from `begin` to `end`; 0 if `end` is before `begin`, as it may be with counters of two sockets.
constexpr ticks ticks_between(ticks begin, ticks end) noexcept { return end > begin ? end - begin : 0; }

/// Ticks per second: the architecture's own value if it provides one, otherwise measured once against CLOCK_MONOTONIC
/// (to about 10 parts per million) and then constant for the life of the process.
double ticks_per_second() noexcept;

/// The duration of `span` in seconds.
double seconds(ticks span) noexcept;

/// `s` seconds in ticks, rounded to nearest; 0 if `s` is not positive.
ticks ticks_from(double s) noexcept;

/// CLOCK_MONOTONIC in seconds, for time stamps that other programs can relate to.
double monotonic_seconds() noexcept;

}  // namespace plx
