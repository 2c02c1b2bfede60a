// The operations on devices. Compiled without contraction to fused multiply-adds (plx_gpu_sources(... EXACT)), like the
// CPU's kernels, so that both give the same bits.
#ifndef PLX_HYDRO_ISA
#define PLX_HYDRO_ISA isa_device
#endif
#define PLX_HYDRO_ONE_LANE
#include "gpu/cuda/kernel.hpp"
#include "star/device/bodies/body.hpp"
#include "star/device/bodies/full3d_body.hpp"
#include "star/device/bodies/ghosts_body.hpp"
#include "star/device/bodies/regrid_body.hpp"
#include "star/device/bodies/species_spin_body.hpp"
#include "star/device/bodies/stage_body.hpp"
#include "star/device/bodies/step_end_body.hpp"
#include "star/device/operations.hpp"

namespace plx::star::device {

namespace {

template <class Eos>
void launch_full3d(cudaStream_t stream, const stage_arguments& a) {
  if (a.hydro.contact_steepening)
    launch_body<PLX_HYDRO_ISA::full3d_body<true, Eos>>(stream, a);
  else
    launch_body<PLX_HYDRO_ISA::full3d_body<false, Eos>>(stream, a);
}

template <class Body>
void launch_all(const gpu::launch& where, const typename Body::arguments* items, unsigned n) {
  for (unsigned i = 0; i < n; ++i) launch_body<Body>(gpu::stream_of(where), items[i]);
}

template <template <class Eos> class Body, class Arguments>
void launch_by_eos(const gpu::launch& where, const Arguments* items, unsigned n) {
  for (unsigned i = 0; i < n; ++i)
    PLX_HYDRO_ISA::with_eos(items[i].hydro.eos.kind,
                            [&]<class Eos>() { launch_body<Body<Eos>>(gpu::stream_of(where), items[i]); });
}

}  // namespace

void PLX_GPU_LAUNCHER(advance_stage)(const gpu::launch& where, const stage_arguments* items, unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    PLX_HYDRO_ISA::with_eos(items[i].hydro.eos.kind, [&]<class Eos>() {
      if (items[i].hydro.scheme == hydro_scheme::full3d) return launch_full3d<Eos>(gpu::stream_of(where), items[i]);
      with_scheme(items[i].hydro, [&]<reconstruction scheme, riemann_solver solver>() {
        PLX_HYDRO_ISA::with_stage_body<scheme, solver, Eos>(
            items[i], [&]<class Body>() { launch_body<Body>(gpu::stream_of(where), items[i]); });
      });
    });
  }
}

void PLX_GPU_LAUNCHER(advance_species)(const gpu::launch& where, const stage_arguments* items, unsigned n) {
  launch_all<PLX_HYDRO_ISA::species_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(advance_spin)(const gpu::launch& where, const stage_arguments* items, unsigned n) {
  launch_all<PLX_HYDRO_ISA::spin_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(make_ghosts)(const gpu::launch& where, const ghosts_arguments* items, unsigned n) {
  launch_all<PLX_HYDRO_ISA::ghosts_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(sum_sides)(const gpu::launch& where, const side_arguments* items, unsigned n) {
  launch_all<PLX_HYDRO_ISA::side_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(finish_step)(const gpu::launch& where, const finish_arguments* items, unsigned n) {
  launch_all<PLX_HYDRO_ISA::finish_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(move_values)(const gpu::launch& where, const move_arguments* items, unsigned n) {
  launch_all<PLX_HYDRO_ISA::move_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(copy_boxes)(const gpu::launch& where, const copy_arguments* items, unsigned n) {
  launch_all<PLX_HYDRO_ISA::copy_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(sum_totals)(const gpu::launch& where, const totals_arguments* items, unsigned n) {
  launch_all<PLX_HYDRO_ISA::totals_body>(where, items, n);
}

void PLX_GPU_LAUNCHER(gather_tiles)(const gpu::launch& where, const tiles_arguments* items, unsigned n) {
  launch_by_eos<PLX_HYDRO_ISA::tiles_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(correct_fluxes)(const gpu::launch& where, const correction_arguments* items, unsigned n) {
  launch_by_eos<PLX_HYDRO_ISA::correction_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(mark_cells)(const gpu::launch& where, const marks_arguments* items, unsigned n) {
  launch_by_eos<PLX_HYDRO_ISA::marks_body>(where, items, n);
}
void PLX_GPU_LAUNCHER(check_blocks)(const gpu::launch& where, const check_arguments* items, unsigned n) {
  launch_by_eos<PLX_HYDRO_ISA::check_body>(where, items, n);
}

}  // namespace plx::star::device
