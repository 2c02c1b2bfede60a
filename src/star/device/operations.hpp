// The operations of a step: each with one function for the CPU and one that launches it on an NVIDIA device. Both are
// made of the same body, so that their results are the same bits.
//
// Thread safety: pure functions of their arguments; a launch function does not wait. Cost: the bodies'.
// Example: star/device/device_gas_test.cpp
#pragma once

#include "star/device/step_data.hpp"

namespace plx::star::device {

/// One Runge-Kutta stage of all blocks (stage_body.hpp).
void advance_stage_cpu(const stage_arguments& a);
void advance_stage_cuda(void* stream, const stage_arguments& a);
/// Ghosts from other levels (ghosts_body.hpp).
void make_ghosts_cpu(const ghosts_arguments& a);
void make_ghosts_cuda(void* stream, const ghosts_arguments& a);
/// Fluxes of finer blocks replace coarser ones (correction_body.hpp).
void correct_fluxes_cpu(const correction_arguments& a);
void correct_fluxes_cuda(void* stream, const correction_arguments& a);
/// What leaves through the sides of the domain (correction_body.hpp).
void sum_sides_cpu(const side_arguments& a);
void sum_sides_cuda(void* stream, const side_arguments& a);
/// The end of a step (finish_body.hpp).
void finish_step_cpu(const finish_arguments& a);
void finish_step_cuda(void* stream, const finish_arguments& a);

}  // namespace plx::star::device
