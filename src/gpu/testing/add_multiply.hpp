// The loop that tells how many additions and multiplications of doubles a device does: eight chains per value.
#pragma once

#include <cstdint>

#include "gpu/operation.hpp"

namespace plx::gpu::testing {

/// out[i] = sum of eight chains x = x * factor + term, `rounds` times each, from x = i + chain on. Each operation is
/// rounded. 16 * rounds * n of them.
struct add_multiply_item {
  double* out;
  double factor, term;
  std::uint32_t n, rounds;
};
PLX_GPU_OPERATION(add_multiply, add_multiply_item);

inline constexpr int add_multiply_chains = 8;

}  // namespace plx::gpu::testing
