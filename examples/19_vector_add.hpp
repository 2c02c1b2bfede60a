// The operation of example 19: its arguments and its name.
#pragma once

#include <cstdint>

#include "gpu/operation.hpp"

/// z[i] = x[i] + y[i] for i < n.
struct add_item {
  const double* x;
  const double* y;
  double* z;
  std::uint32_t n;
};
PLX_GPU_OPERATION_WITHOUT_SYCL(vector_add, add_item);
