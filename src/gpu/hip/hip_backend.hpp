// The backend for AMD devices, using HIP: the source of the cuda backend with HIP's names.
#pragma once

#include "gpu/backend.hpp"

namespace plx::gpu::hip {

const backend& table() noexcept;

}  // namespace plx::gpu::hip
