#include "gpu/core/backends.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#define PLX_GPU_CODE_OF cuda
#include "gpu/cuda/cuda_backend_body.hpp"

namespace plx::gpu::cuda {
namespace {

using write_function = CUresult (*)(CUstream, CUdeviceptr, std::uint32_t, unsigned);

// A function of the driver, which this program does not link.
write_function find_write_function() noexcept {
  void* f = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t e = cudaGetDriverEntryPointByVersion("cuStreamWriteValue32", &f, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t e = cudaGetDriverEntryPoint("cuStreamWriteValue32", &f, cudaEnableDefault, &found);
#endif
  return e == cudaSuccess && found == cudaDriverEntryPointSuccess ? reinterpret_cast<write_function>(f) : nullptr;
}

outcome call(native_device d, native_stream s, void (*f)(void*), void* arg) {
  use(d);
  return outcome_of(cudaLaunchHostFunc(of(s), f, arg), "cudaLaunchHostFunc");
}
outcome write_flag(native_device d, native_stream s, std::uint32_t* flag, std::uint32_t value) {
  static const write_function write = find_write_function();
  use(d);
  if (write == nullptr) return {cudaErrorNotSupported, "cuStreamWriteValue32"};
  const CUresult r = write(of(s), reinterpret_cast<CUdeviceptr>(flag), value, 0);
  // The driver's error codes have the same values as those of the runtime.
  return {r == CUDA_SUCCESS ? 0 : static_cast<int>(r), "cuStreamWriteValue32"};
}

launch_function kernel_of(const any_operation& op) { return op.cuda; }

}  // namespace

const backend& table() noexcept {
  static const backend the_table = PLX_GPU_TABLE("cuda");
  return the_table;
}

}  // namespace plx::gpu::cuda
