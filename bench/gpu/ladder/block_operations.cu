// The operations of single blocks on devices. Compiled without contraction to fused multiply-adds, as operations.cu.
#ifndef PLX_HYDRO_ISA
#define PLX_HYDRO_ISA isa_device_blocks
#endif
#define PLX_HYDRO_ONE_LANE
#include <algorithm>

#include "block_operations.hpp"
#include "gpu/cuda/kernel.hpp"
#include "star/device/bodies/body.hpp"
#include "star/device/bodies/full3d_body.hpp"
#include "star/device/bodies/ghosts_body.hpp"

namespace plx::star::device {
namespace {

// Kernel parameters: 64 blocks take 2.6 KB of the 4 KB that any toolkit allows.
constexpr unsigned most_blocks = 64;
template <class Arguments>
struct block_list {
  one_block<Arguments> block[most_blocks];
};

template <class Body>
__global__ void __launch_bounds__(Body::threads, Body::groups_per_unit)
    blocks_kernel(const __grid_constant__ block_list<typename Body::arguments> list, int groups_each) {
  extern __shared__ double shared[];
  using arguments = typename Body::arguments;
  alignas(arguments) __shared__ unsigned char bytes[sizeof(arguments)];  // as bytes: no constructor runs
  arguments& mine = *reinterpret_cast<arguments*>(bytes);
  const auto& block = list.block[blockIdx.x / groups_each];
  const int group = static_cast<int>(blockIdx.x) % groups_each;
  if (group >= block.groups) return;
  if (threadIdx.x == 0) mine = arguments_of(block);
  __syncthreads();
  run_phases<Body, 0>(mine, group, shared);
}

/// Requires: the same body for all of `items`. Errors: those of the launch are reported by cudaGetLastError().
template <class Body>
void launch_blocks(cudaStream_t stream, const one_block<typename Body::arguments>* items, unsigned n) {
  const std::size_t shared = Body::shared_bytes({});
#if !defined(__HIPCC__)
  constexpr auto most = cudaFuncAttributeMaxDynamicSharedMemorySize;
  if (shared > std::size_t{47} << 10 &&
      cudaFuncSetAttribute(blocks_kernel<Body>, most, static_cast<int>(shared)) != cudaSuccess)
    return;
#endif
  for (unsigned first = 0; first < n; first += most_blocks) {
    const unsigned count = std::min(n - first, most_blocks);
    block_list<typename Body::arguments> list;
    int groups = 1;
    for (unsigned i = 0; i < count; ++i) {
      list.block[i] = items[first + i];
      groups = std::max(groups, static_cast<int>(items[first + i].groups));
    }
    blocks_kernel<Body><<<count* static_cast<unsigned>(groups), Body::threads, shared, stream>>>(list, groups);
  }
}

}  // namespace

void PLX_GPU_LAUNCHER(gather_block)(const gpu::launch& where, const gather_item* items, unsigned n) {
  launch_blocks<PLX_HYDRO_ISA::tiles_body<PLX_HYDRO_ISA::ideal_gas>>(gpu::stream_of(where), items, n);
}

// Either all blocks of a gas use steepening or none; if several gases share a launch, adjacent ones with the same
// setting are launched together.
void PLX_GPU_LAUNCHER(advance_block_stage)(const gpu::launch& where, const advance_item* items, unsigned n) {
  for (unsigned first = 0, last = 0; first < n; first = last) {
    const bool steep = items[first].contact_steepening;
    while (last < n && items[last].contact_steepening == steep) ++last;
    if (steep)
      launch_blocks<PLX_HYDRO_ISA::full3d_body<true, PLX_HYDRO_ISA::ideal_gas>>(gpu::stream_of(where), items + first,
                                                                                last - first);
    else
      launch_blocks<PLX_HYDRO_ISA::full3d_body<false, PLX_HYDRO_ISA::ideal_gas>>(gpu::stream_of(where), items + first,
                                                                                 last - first);
  }
}

}  // namespace plx::star::device
