#include "gpu/hip/hip_backend.hpp"

#include "gpu/hip/cuda_names.hpp"

#define PLX_GPU_CODE_OF hip
#define PLX_GPU_CODE_IS_HIP
#include "gpu/cuda/cuda_backend_body.hpp"

namespace plx::gpu::hip {
namespace {

outcome write_flag(native_device d, native_stream s, std::uint32_t* flag, std::uint32_t value) {
  use(d);
  return said(hipStreamWriteValue32(of(s), flag, value, 0), "hipStreamWriteValue32");
}

launch_function kernel_of(const any_operation& op) { return op.hip; }
const activity_functions* records() noexcept { return nullptr; }

}  // namespace

const backend& table() noexcept {
  static const backend the_table = PLX_GPU_TABLE("hip");
  return the_table;
}

}  // namespace plx::gpu::hip
