// A loop that measures the rate of additions and multiplications of doubles on a device: eight chains per value.
#pragma once

#include <cstdint>

#include "gpu/operation.hpp"

namespace plx::gpu::testing {

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
