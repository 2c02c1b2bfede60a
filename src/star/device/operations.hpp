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
/// The end of a step (finish_body.hpp).
void finish_step_cpu(const finish_arguments& a);
void finish_step_cuda(void* stream, const finish_arguments& a);

}  // namespace plx::star::device
