#include "parquet/device/operations.hpp"

#if defined(PLX_GPU_CUDA)

#include "gpu/cuda/blas.hpp"

namespace plx::parquet::device {

void multiply_cuda(const gpu::launch& where, const multiply_item* items, unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    const multiply_item& a = items[i];
    gpu::cuda::multiply(where, a.n, a.a, a.b, a.c, static_cast<std::ptrdiff_t>(a.n) * a.n, a.count);
  }
}

}  // namespace plx::parquet::device

#endif
