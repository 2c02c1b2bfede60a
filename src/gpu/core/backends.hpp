// The tables of the backends for devices. Each is defined if its backend is built (gpu/CMakeLists.txt).
#pragma once

#include "gpu/backend.hpp"

namespace plx::gpu {

namespace cuda {
/// The backend for NVIDIA devices, using the statically linked CUDA runtime library: on a machine without a driver the
/// program starts, and count() fails with the reason.
const backend& table() noexcept;
/// Activity records from CUPTI, for that table. Null if built without CUPTI's headers.
const activity_functions* records() noexcept;
}  // namespace cuda

namespace hip {
/// The backend for AMD devices, using HIP: the source of the cuda backend with HIP's names.
const backend& table() noexcept;
}  // namespace hip

namespace sycl {
/// The backend for SYCL 2020: in-order queues, unified shared memory, polled events, host tasks. Built if the compiler
/// supports SYCL (CXX=icpx, or AdaptiveCpp). It has no graphs, since the standard has none.
const backend& table() noexcept;
}  // namespace sycl

}  // namespace plx::gpu
