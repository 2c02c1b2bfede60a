// The backend of NVIDIA's devices, through the CUDA runtime library, which is linked statically: a program that was
// built with it starts on a machine without a driver, and count() says so.
#pragma once

#include "gpu/backend.hpp"

namespace plx::gpu::cuda {

const backend& table() noexcept;

}  // namespace plx::gpu::cuda
