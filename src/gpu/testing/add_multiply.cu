// Compiled without fused multiply-add: see CMakeLists.txt.
#include "gpu/cuda/kernel.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::gpu::testing {
namespace {

template <class Items>
__global__ void add_multiply_kernel(const __grid_constant__ Items items) {
  const add_multiply_item& a = items[blockIdx.y];
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.n) return;
  double x[add_multiply_chains];
  for (int c = 0; c < add_multiply_chains; ++c) x[c] = static_cast<double>(i) + c;
  for (std::uint32_t r = 0; r < a.rounds; ++r)
    for (double& v : x) v = v * a.factor + a.term;
  double sum = 0;
  for (const double v : x) sum += v;
  a.out[i] = sum;
}

}  // namespace

void PLX_GPU_LAUNCHER(add_multiply)(const launch& where, const add_multiply_item* items, unsigned n) {
  with_items(where, items, n, [&](const auto& list) {
    constexpr unsigned threads = 256;
    unsigned longest = 1;
    for (unsigned i = 0; i < n; ++i) longest = items[i].n > longest ? items[i].n : longest;
    add_multiply_kernel<<<dim3((longest + threads - 1) / threads, n), threads, 0, stream_of(where)>>>(list);
  });
}

}  // namespace plx::gpu::testing
