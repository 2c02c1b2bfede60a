#include "metg/graph.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <limits>

#include "base/clock.hpp"

namespace metg {
namespace {

/// A pseudorandom hash (the finalizer of SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr int n_nearest = 5, n_spread = 5, n_random = 3, n_random_layers = 64;

std::vector<point> around(point p, point width, int radius) {
  std::vector<point> in;
  for (std::int64_t q = std::int64_t{p} - radius; q <= std::int64_t{p} + radius; ++q)
    if (q >= 0 && q < width) in.push_back(static_cast<point>(q));
  return in;
}

std::vector<point> inputs_of(pattern kind, step t, point p, point width) {
  std::vector<point> in;
  switch (kind) {
    case pattern::trivial:
      break;
    case pattern::stencil:
      in = around(p, width, 1);
      break;
    case pattern::nearest:
      in = around(p, width, n_nearest / 2);
      break;
    case pattern::fft: {
      const point other = p ^ (point{1} << (t % std::max<step>(1, static_cast<step>(std::bit_width(width) - 1))));
      in = {p};
      if (other < width) in.push_back(other);
      break;
    }
    case pattern::tree:
      in = {p / 2};
      break;
    case pattern::spread:
      for (point i = 0; i < n_spread; ++i) in.push_back((p + i * std::max<point>(1, width / n_spread) + t) % width);
      break;
    case pattern::random:
      for (int i = 0; i < n_random; ++i) in.push_back(static_cast<point>(mix((t * 1'000'003ull + p) * 31 + i) % width));
      break;
    case pattern::all_to_all:
      for (point q = 0; q < width; ++q) in.push_back(q);
      break;
  }
  std::sort(in.begin(), in.end());
  in.erase(std::unique(in.begin(), in.end()), in.end());
  return in;
}

step layers_before_repeating(pattern kind, point width) {
  return kind == pattern::tree ? static_cast<step>(std::bit_width(width - 1)) : 0;
}

step repeating_layers(pattern kind, point width) {
  switch (kind) {
    case pattern::fft:
      return std::max<step>(1, static_cast<step>(std::bit_width(width) - 1));
    case pattern::spread:
      return width;
    case pattern::random:
      return n_random_layers;
    default:
      return 1;
  }
}

}  // namespace

const char* name_of(pattern p) {
  constexpr const char* names[] = {"trivial", "stencil", "fft", "tree", "nearest", "spread", "random", "all_to_all"};
  return names[static_cast<int>(p)];
}
const char* name_of(kernel k) {
  constexpr const char* names[] = {"compute", "busy_wait", "memory", "imbalance", "empty"};
  return names[static_cast<int>(k)];
}

graph::graph(pattern kind, point width) : width_(width), start_(layers_before_repeating(kind, width)) {
  for (step t = 0; t < start_ + repeating_layers(kind, width); ++t) {
    const point active = t < start_ ? std::min(width, point{1} << t) : width;
    std::vector<std::vector<point>> inputs;
    for (point p = 0; p < active; ++p) inputs.push_back(inputs_of(kind, t, p, width));
    add_layer(active, inputs);
  }
}

void graph::add_layer(point active, const std::vector<std::vector<point>>& inputs) {
  layer l{active, {}, {0}, {}, {0}};
  std::vector<std::vector<point>> readers(width_);
  for (point p = 0; p < active; ++p) {
    for (point q : inputs[p]) {
      l.inputs.push_back(q);
      readers[q].push_back(p);
    }
    l.first_input.push_back(static_cast<point>(l.inputs.size()));
  }
  for (const auto& r : readers) {
    l.readers.insert(l.readers.end(), r.begin(), r.end());
    l.first_reader.push_back(static_cast<point>(l.readers.size()));
  }
  layers_.push_back(std::move(l));
}

std::uint64_t graph::tasks(step steps) const noexcept {
  std::uint64_t n = 0;
  for (step t = 0; t < std::min(steps, start_); ++t) n += active(t);
  return n + (steps > start_ ? std::uint64_t{steps - start_} * width_ : 0);
}

// ---- the work of a task, and the check that it ran after its inputs
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
