// The backend for NVIDIA devices, using the statically linked CUDA runtime library: on a machine without a driver the
// program starts, and count() fails with the reason.
#pragma once

#include "gpu/backend.hpp"

namespace plx::gpu::cuda {

const backend& table() noexcept;

}  // namespace plx::gpu::cuda
