// The passes of gravity on devices. Compiled without contraction to fused multiply-adds, like those for workers.
#ifndef PLX_HYDRO_ISA
#define PLX_HYDRO_ISA isa_device
#endif
#define PLX_HYDRO_ONE_LANE
#include "gpu/cuda/kernel.hpp"
#include "star/device/portable_operation.hpp"
#include "star/gravity/bodies.hpp"
#include "star/gravity/passes.hpp"

namespace plx::star::gravity {

namespace {

template <pass_kind kind, int order>
__global__ void __launch_bounds__(threads_of(kind))
    pass_kernel(const __grid_constant__ device::portable_item<pass<kind, order>> a, bool has_tile) {
  extern __shared__ double tile[];
  if (a.control->stopped != 0 || PLX_HYDRO_ISA::is_skipped(a.f.l, a.view)) return;
  const std::int32_t node = a.nodes[blockIdx.x];
  const int thread = static_cast<int>(threadIdx.x);
  PLX_HYDRO_ISA::mass_tile masses;
  if constexpr (kind == pass_kind::accelerations) {
    if (has_tile) {
      PLX_HYDRO_ISA::copy_masses(a.f.l, a.view, node, thread, threads_of(kind), tile);
      __syncthreads();
      masses = {tile, a.f.l.reach};
    }
  }
  PLX_HYDRO_ISA::run_pass<kind, order>(a.f.l, a.view, node, thread, threads_of(kind), masses);
}

}  // namespace

template <pass_kind kind, int order>
void pass<kind, order>::PLX_PORTABLE_LAUNCH(const gpu::launch& where, const void* items, unsigned n) {
  const auto* all = static_cast<const device::portable_item<pass<kind, order>>*>(items);
  for (unsigned i = 0; i < n; ++i) {
    if (all[i].count <= 0) continue;
    const std::size_t shared = tile_bytes(kind, all[i].view.n, all[i].f.l.reach);
    if (!gpu::allow_shared_memory(pass_kernel<kind, order>, shared)) continue;
    pass_kernel<kind, order><<<static_cast<unsigned>(all[i].count), threads_of(kind), shared, gpu::stream_of(where)>>>(
        all[i], shared > 0);
  }
}

#define PLX_GRAVITY_PASS(kind, order) \
  template void pass<pass_kind::kind, order>::PLX_PORTABLE_LAUNCH(const gpu::launch&, const void*, unsigned);
#define PLX_GRAVITY_ORDERS(kind) \
  PLX_GRAVITY_PASS(kind, 3)      \
  PLX_GRAVITY_PASS(kind, 4)      \
  PLX_GRAVITY_PASS(kind, 5)      \
  PLX_GRAVITY_PASS(kind, 6)
PLX_GRAVITY_ORDERS(moments)
PLX_GRAVITY_ORDERS(interactions)
PLX_GRAVITY_ORDERS(translations)
PLX_GRAVITY_ORDERS(accelerations)
PLX_GRAVITY_PASS(totals, 0)
PLX_GRAVITY_PASS(mean, 0)
PLX_GRAVITY_PASS(masses, 0)
PLX_GRAVITY_PASS(energy, 0)
PLX_GRAVITY_PASS(node_sums, 0)
PLX_GRAVITY_PASS(corrections, 0)
PLX_GRAVITY_PASS(source, 0)
PLX_GRAVITY_PASS(around, 0)
PLX_GRAVITY_PASS(balance, 0)

}  // namespace plx::star::gravity
