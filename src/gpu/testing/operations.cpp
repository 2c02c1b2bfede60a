#include "gpu/testing/operations.hpp"

#include <atomic>
#include <stdexcept>

#include "base/clock.hpp"

namespace plx::gpu::testing {

void add_cpu(const add_item& a) {
  for (std::uint32_t i = 0; i < a.n; ++i) a.z[i] = a.x[i] + a.y[i];
}

void chain_cpu(const chain_item& c) { *c.word = *c.word * 31 + c.value; }

void spin_cpu(const spin_item& s) {
  const ticks end = now_ticks() + ticks_from(1e-9 * static_cast<double>(s.nanoseconds));
  while (now_ticks() < end) {
  }
  if (s.done != nullptr) std::atomic_ref(*s.done).store(s.value, std::memory_order_release);
}

void empty_cpu(const empty_item&) {}

void crash_cpu(const crash_item&) { throw std::runtime_error("crashed as asked"); }

void add_multiply_cpu(const add_multiply_item& a) {
  for (std::uint32_t i = 0; i < a.n; ++i) {
    double x[add_multiply_chains];
    for (int c = 0; c < add_multiply_chains; ++c) x[c] = static_cast<double>(i) + c;
    for (std::uint32_t r = 0; r < a.rounds; ++r)
      for (double& v : x) v = v * a.factor + a.term;
    double sum = 0;
    for (const double v : x) sum += v;
    a.out[i] = sum;
  }
}

}  // namespace plx::gpu::testing
