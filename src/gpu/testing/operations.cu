#include "gpu/cuda/kernel.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::gpu::testing {
namespace {

template <class Items>
__global__ void add_kernel(const __grid_constant__ Items items) {
  const add_item& a = items[blockIdx.y];
  const std::uint32_t stride = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += stride) a.z[i] = a.x[i] + a.y[i];
}

// Items of one launch run in order: one thread runs all of them.
template <class Items>
__global__ void chain_kernel(const __grid_constant__ Items items, unsigned n) {
  for (unsigned i = 0; i < n; ++i) *items[i].word = *items[i].word * 31 + items[i].value;
}

__device__ std::uint64_t device_nanoseconds() {
#if defined(__HIP_DEVICE_COMPILE__)
  return static_cast<std::uint64_t>(wall_clock64()) * 10;  // 100 MHz
#elif defined(__HIPCC__)
  return 0;  // the compiler's host pass, where HIP has no such clock
#else
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
#endif
}

template <class Items>
__global__ void spin_kernel(const __grid_constant__ Items items) {
  const spin_item& s = items[blockIdx.x];
  const std::uint64_t begin = device_nanoseconds();
  while (device_nanoseconds() - begin < s.nanoseconds) {
  }
  if (s.done != nullptr) *static_cast<volatile std::uint32_t*>(s.done) = s.value;
}

template <class Items>
__global__ void empty_kernel(const __grid_constant__ Items) {}

__global__ void crash_kernel(std::uint32_t* nowhere) { *nowhere = 1; }

}  // namespace

void PLX_GPU_LAUNCHER(add)(const launch& where, const add_item* items, unsigned n) {
  with_items(where, items, n, [&](const auto& list) {
    constexpr unsigned threads = 256;
    unsigned longest = 1;
    for (unsigned i = 0; i < n; ++i) longest = items[i].n > longest ? items[i].n : longest;
    const unsigned blocks = (longest + threads - 1) / threads;
    add_kernel<<<dim3(blocks < 1024 ? blocks : 1024, n), threads, 0, stream_of(where)>>>(list);
  });
}

void PLX_GPU_LAUNCHER(chain)(const launch& where, const chain_item* items, unsigned n) {
  with_items(where, items, n, [&](const auto& list) { chain_kernel<<<1, 1, 0, stream_of(where)>>>(list, n); });
}

void PLX_GPU_LAUNCHER(spin)(const launch& where, const spin_item* items, unsigned n) {
  with_items(where, items, n, [&](const auto& list) { spin_kernel<<<n, 1, 0, stream_of(where)>>>(list); });
}

void PLX_GPU_LAUNCHER(empty)(const launch& where, const empty_item* items, unsigned n) {
  with_items(where, items, n, [&](const auto& list) { empty_kernel<<<n, 1, 0, stream_of(where)>>>(list); });
}

void PLX_GPU_LAUNCHER(crash)(const launch& where, const crash_item*, unsigned) {
  crash_kernel<<<1, 1, 0, stream_of(where)>>>(reinterpret_cast<std::uint32_t*>(16));
}

}  // namespace plx::gpu::testing
