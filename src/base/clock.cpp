#include "base/clock.hpp"

#include <ctime>

namespace plx {
namespace {

struct clock_pair {
  ticks counter;
  double monotonic_s;
};

/// Both clocks at the same moment: the tightest of a few readings, so that an interruption between them does no harm.
[[maybe_unused]] clock_pair read_both() noexcept {
  clock_pair best{};
  ticks best_width = ~ticks{0};
  for (int i = 0; i < 8; ++i) {
    const ticks before = now_ticks();
    const double s = monotonic_seconds();
    const ticks width = now_ticks() - before;
    if (width < best_width) best = {before + width / 2, s}, best_width = width;
  }
  return best;
}

double find_rate() noexcept {
#if defined(__aarch64__)
  std::uint64_t hertz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
  return static_cast<double>(hertz);
#elif defined(__x86_64__)
  // The processor's own statement of the frequency is often absent or rounded in virtual machines: measure.
  constexpr double measure_s = 5e-3;
  const clock_pair start = read_both();
  clock_pair end{};
  do {
    end = read_both();
  } while (end.monotonic_s - start.monotonic_s < measure_s);
  return static_cast<double>(end.counter - start.counter) / (end.monotonic_s - start.monotonic_s);
#else
  return 1e9;
#endif
}

}  // namespace

double monotonic_seconds() noexcept {
  std::timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double ticks_per_second() noexcept {
  static const double rate = find_rate();
  return rate;
}

double seconds(ticks span) noexcept {
  static const double seconds_per_tick = 1.0 / ticks_per_second();
  return static_cast<double>(span) * seconds_per_tick;
}

ticks ticks_from(double s) noexcept { return s > 0 ? static_cast<ticks>(s * ticks_per_second() + 0.5) : 0; }

}  // namespace plx
