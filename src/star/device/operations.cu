// The operations on NVIDIA devices. Compiled with -fmad=false: the CPU's kernels fuse nothing either, so that both give
// the same bits.
#ifndef PLX_HYDRO_ISA
#define PLX_HYDRO_ISA isa_device
#endif
#define PLX_HYDRO_ONE_LANE
#include "star/device/choose_scheme.hpp"
#include "star/device/correction_body.hpp"
#include "star/device/finish_body.hpp"
#include "star/device/ghosts_body.hpp"
#include "star/device/operations.hpp"
#include "star/device/run_bodies.hpp"
#include "star/device/stage_body.hpp"

namespace plx::star::device {

void advance_stage_cuda(void* stream, const stage_arguments& a) {
  with_scheme(a.hydro, [&]<reconstruction scheme, riemann_solver solver>() {
    launch_body<PLX_HYDRO_ISA::stage_body<scheme, solver>>(static_cast<cudaStream_t>(stream), a);
  });
}

void finish_step_cuda(void* stream, const finish_arguments& a) {
  launch_body<PLX_HYDRO_ISA::finish_body>(static_cast<cudaStream_t>(stream), a);
}

void make_ghosts_cuda(void* stream, const ghosts_arguments& a) {
  launch_body<PLX_HYDRO_ISA::ghosts_body>(static_cast<cudaStream_t>(stream), a);
}

void correct_fluxes_cuda(void* stream, const correction_arguments& a) {
  launch_body<PLX_HYDRO_ISA::correction_body>(static_cast<cudaStream_t>(stream), a);
}

void sum_sides_cuda(void* stream, const side_arguments& a) {
  launch_body<PLX_HYDRO_ISA::side_body>(static_cast<cudaStream_t>(stream), a);
}

}  // namespace plx::star::device
