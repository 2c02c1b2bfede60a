// The work of a task, and the check that it ran after its inputs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>

#include "base/clock.hpp"
#include "metg/graph.hpp"

namespace metg {
namespace {

double compute_unit_s = 0, memory_unit_s = 0;  // of one iteration of the loops below
constexpr std::size_t memory_words = 2048;     // 16 KiB per thread: more than a task's own data, less than a cache

/// Waits until the preceding instructions have ended: otherwise the processor overlaps two or three short tasks.
inline void finish_instructions() {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#elif defined(__aarch64__)
  asm volatile("isb" : : : "memory");
#endif
}

/// Dependent multiply-adds: their time does not depend on vector units. The volatile value prevents the compiler from
/// precomputing or removing the loop.
void compute(std::uint64_t n) {
  volatile double value = 0.5;
  double x = value;
  for (std::uint64_t i = 0; i < n; ++i) x = x * 0.999 + 0.001;
  value = x;
  finish_instructions();
}

void memory(std::uint64_t n) {
  thread_local std::vector<std::uint64_t> words(memory_words, 1);
  std::uint64_t* const w = words.data();
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::size_t line = (i * 8) % memory_words;
    for (std::size_t k = 0; k < 8; ++k) w[line + k] += i;
    asm volatile("" : : "r"(w) : "memory");
  }
}

void busy_wait(plx::ticks length) {
  const plx::ticks end = plx::now_ticks() + length;
  while (plx::now_ticks() < end) {
  }
}

double seconds_of(void (*unit)(std::uint64_t), std::uint64_t n) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < 30; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    unit(n);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best / static_cast<double>(n);
}

/// Between 0 and 2, 1 on average, the same in every run: the length of this task relative to the average.
double imbalance(step t, point p) {
  std::uint64_t x = (std::uint64_t{t} << 32 | p) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return 2.0 * static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

void calibrate() {
  compute_unit_s = seconds_of(compute, 100'000);
  memory_unit_s = seconds_of(memory, 100'000);
}

run::run(const graph& g, step steps, kernel k, double grain_s)
    : graph_(g), steps_(steps), kernel_(k), grain_s_(k == kernel::empty ? 0 : grain_s), outputs_(index(steps, 0)) {}

void run::work(step t, point p) const noexcept {
  const auto units = [](double s, double unit_s) { return static_cast<std::uint64_t>(s / unit_s + 0.5); };
  switch (kernel_) {
    case kernel::compute:
      compute(units(grain_s_, compute_unit_s));
      break;
    case kernel::imbalance:
      compute(units(grain_s_ * imbalance(t, p), compute_unit_s));
      break;
    case kernel::memory:
      memory(units(grain_s_, memory_unit_s));
      break;
    case kernel::busy_wait:
      busy_wait(plx::ticks_from(grain_s_));
      break;
    case kernel::empty:
      break;
  }
}

void run::execute(step t, point p) noexcept {
  bool right = at(t, p)->t != t;  // runs once
  for (const point q : graph_.inputs(t, p)) right = right && at(t - 1, q)->t == t - 1 && at(t - 1, q)->p == q;
  if (!right) std::atomic_ref(wrong_).fetch_add(1, std::memory_order_relaxed);
  work(t, p);
  *at(t, p) = {t, p};
}

std::string run::verify() const {
  if (wrong_ != 0) return std::to_string(wrong_) + " tasks ran twice or before their inputs";
  std::uint64_t missing = 0;
  for (step t = 0; t < steps_; ++t)
    for (point p = 0; p < graph_.active(t); ++p) missing += at(t, p)->t != t || at(t, p)->p != p;
  return missing == 0 ? "" : std::to_string(missing) + " tasks did not run";
}

}  // namespace metg
