// Activity records of CUDA, by CUPTI: for the table of the backend.
#pragma once

#include "gpu/backend.hpp"

namespace plx::gpu::cuda {

/// Null where this was built without CUPTI's headers.
const activity_functions* records() noexcept;

}  // namespace plx::gpu::cuda
