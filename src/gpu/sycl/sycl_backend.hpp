// The backend for SYCL 2020: in-order queues, unified shared memory, polled events, host tasks. Built if the compiler
// supports SYCL (CXX=icpx, or AdaptiveCpp). It has no graphs, since the standard has none.
#pragma once

#include "gpu/backend.hpp"

namespace plx::gpu::sycl {

const backend& table() noexcept;

}  // namespace plx::gpu::sycl
