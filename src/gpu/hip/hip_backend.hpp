// The backend of AMD's devices, through HIP: the source of the backend cuda under other names.
#pragma once

#include "gpu/backend.hpp"

namespace plx::gpu::hip {

const backend& table() noexcept;

}  // namespace plx::gpu::hip
