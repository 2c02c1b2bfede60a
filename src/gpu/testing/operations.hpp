// Operations for tests, benchmarks and as examples, for every backend that is built.
#pragma once

#include <cstdint>

#include "gpu/operation.hpp"

namespace plx::gpu::testing {

/// z[i] = x[i] + y[i] for i < n.
struct add_item {
  const double* x;
  const double* y;
  double* z;
  std::uint32_t n;
};
PLX_GPU_OPERATION(add, add_item);

/// word[0] = word[0] * 31 + value: the result depends on the order.
struct chain_item {
  std::uint64_t* word;
  std::uint64_t value;
};
PLX_GPU_OPERATION(chain, chain_item);

/// Runs for about that many nanoseconds, then sets *done (which may be null) to `value`.
struct spin_item {
  std::uint64_t nanoseconds;
  std::uint32_t* done;
  std::uint32_t value;
};
PLX_GPU_OPERATION(spin, spin_item);

/// Does nothing; measures the cost of a launch.
struct empty_item {
  std::uint32_t unused;
};
PLX_GPU_OPERATION(empty, empty_item);

/// Writes to an invalid address: the device is lost. On the cpu backend it throws.
struct crash_item {
  std::uint32_t unused;
};
PLX_GPU_OPERATION(crash, crash_item);

/// A loop that measures the rate of additions and multiplications of doubles on a device: eight chains per value.
/// out[i] = sum of eight chains x = x * factor + term, iterated `rounds` times from x = i + chain. Each operation is
/// rounded. 16 * rounds * n operations.
struct add_multiply_item {
  double* out;
  double factor, term;
  std::uint32_t n, rounds;
};
PLX_GPU_OPERATION(add_multiply, add_multiply_item);

inline constexpr int add_multiply_chains = 8;

}  // namespace plx::gpu::testing
