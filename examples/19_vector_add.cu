// The kernel of example 19, for nvcc and hipcc.
#include "19_vector_add.hpp"
#include "gpu/cuda/kernel.hpp"

namespace {  // both compilers give a kernel a symbol of its name

template <class Items>
__global__ void vector_add_kernel(const __grid_constant__ Items items) {
  const add_item& a = items[blockIdx.y];
  const std::uint32_t stride = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += stride) a.z[i] = a.x[i] + a.y[i];
}

}  // namespace

void PLX_GPU_LAUNCHER(vector_add)(const plx::gpu::launch& where, const add_item* items, unsigned n) {
  plx::gpu::with_items(where, items, n, [&](const auto& list) {
    vector_add_kernel<<<dim3(8, n), 256, 0, plx::gpu::stream_of(where)>>>(list);
  });
}
