#include "base/clock.hpp"
#include "base/clock_rate.hpp"

#include <ctime>
#if defined(__x86_64__)
#include <cpuid.h>
#include <fcntl.h>
#include <unistd.h>
#endif

namespace plx {

namespace detail {

constinit std::atomic<tick_source> tick_source_used{tick_source::undecided};

static ticks monotonic_ticks() noexcept {
  std::timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<ticks>(t.tv_sec) * 1'000'000'000u + static_cast<ticks>(t.tv_nsec);
}

// Clocks that hypervisors derive from the counter. The kernel prefers them although it trusts the counter as well; it
// no longer lists a counter that it has found unstable.
static bool computed_from_counter(std::string_view clock) noexcept {
  return clock == "kvm-clock" || clock == "xen" || clock == "hyperv_clocksource_tsc_page";
}

static bool lists(std::string_view words, std::string_view word) noexcept {
  for (std::size_t i = words.find(word); i != std::string_view::npos; i = words.find(word, i + 1)) {
    const std::size_t end = i + word.size();
    if ((i == 0 || words[i - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

bool counter_is_trusted(bool invariant, std::string_view current, std::string_view available) noexcept {
  if (!invariant) return false;
  if (current.empty() || current == "tsc") return true;  // without /sys, only the processor's statement is available
  return computed_from_counter(current) && lists(available, "tsc");
}

#if defined(__x86_64__)
namespace {

struct short_text {
  char bytes[256];
  std::size_t size = 0;
  [[nodiscard]] std::string_view view() const noexcept { return {bytes, size}; }
};

// Does not use streams: the first clock reading may come early in the life of the process.
short_text read_line(const char* path) noexcept {
  short_text t;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return t;
  const auto n = ::read(file, t.bytes, sizeof t.bytes);
  ::close(file);
  t.size = n > 0 ? static_cast<std::size_t>(n) : 0;
  while (t.size > 0 && (t.bytes[t.size - 1] == '\n' || t.bytes[t.size - 1] == ' ')) --t.size;
  return t;
}

tick_source decide() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool invariant = __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
  const short_text current = read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const short_text available = read_line("/sys/devices/system/clocksource/clocksource0/available_clocksource");
  return counter_is_trusted(invariant, current.view(), available.view()) ? tick_source::counter
                                                                         : tick_source::monotonic;
}

}  // namespace
#endif

ticks now_ticks_slowly() noexcept {
#if defined(__x86_64__)
  if (tick_source_used.load(std::memory_order_relaxed) == tick_source::undecided)
    tick_source_used.store(decide(), std::memory_order_relaxed);  // every thread decides the same
  if (tick_source_used.load(std::memory_order_relaxed) == tick_source::counter) return __builtin_ia32_rdtsc();
#endif
  return monotonic_ticks();
}

}  // namespace detail

namespace {

struct clock_pair {
  ticks counter;
  double monotonic_s;
};

/// Both clocks at the same moment: the tightest of several readings, so that an interruption between them does no harm.
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
  (void)now_ticks();  // decides
  if (detail::tick_source_used.load(std::memory_order_relaxed) != detail::tick_source::counter) return 1e9;
  // In virtual machines, the frequency that the processor states is often absent or rounded: measure it.
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

namespace {
double given_rate = 0;  // 0: measured
}  // namespace

void set_ticks_per_second(double rate) noexcept { given_rate = rate; }

double ticks_per_second() noexcept {
  static const double rate = given_rate > 0 ? given_rate : find_rate();
  return rate;
}

double seconds(ticks span) noexcept {
  static const double seconds_per_tick = 1.0 / ticks_per_second();
  return static_cast<double>(span) * seconds_per_tick;
}

ticks ticks_from(double s) noexcept { return s > 0 ? static_cast<ticks>(s * ticks_per_second() + 0.5) : 0; }

}  // namespace plx
