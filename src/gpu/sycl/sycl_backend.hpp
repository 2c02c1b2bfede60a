// The backend of SYCL 2020: in-order queues, unified shared memory, events that are asked for, host tasks. Built where
// the compiler of the tree is one for SYCL (CXX=icpx, or AdaptiveCpp's). It has no graphs: the standard has none.
#pragma once

#include "gpu/backend.hpp"

namespace plx::gpu::sycl {

const backend& table() noexcept;

}  // namespace plx::gpu::sycl
