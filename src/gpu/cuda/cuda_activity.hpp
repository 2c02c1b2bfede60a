// CUDA activity records from CUPTI, for the backend's table.
#pragma once

#include "gpu/backend.hpp"

namespace plx::gpu::cuda {

/// Null if built without CUPTI's headers.
const activity_functions* records() noexcept;

}  // namespace plx::gpu::cuda
