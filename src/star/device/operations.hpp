// The operations of a step: each has one function for the CPU and one that launches it on a device. Both are made of
// the same body, so their results are equal to the last bit. An item covers a whole mesh: one launch handles all
// blocks; several items are one launch each.
//
// Thread safety: pure functions of their items; a launch function does not wait. Cost: that of the bodies. The backend
// sycl has none of these operations.
// Example: star/device/test/device_gas_test.cpp; star/device/test/operation_rows.cpp checks and times each
#pragma once

#include <cstddef>

#include "gpu/operation.hpp"
#include "star/device/data/step_data.hpp"

namespace plx::star::device {

/// One Runge-Kutta stage of all blocks (stage_body.hpp, full3d_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(advance_stage, stage_arguments);
/// The species in that stage, after the gas (species_spin_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(advance_species, stage_arguments);
/// The spin in that stage, after the gas (species_spin_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(advance_spin, stage_arguments);
/// Ghost cells from other levels (ghosts_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(make_ghosts, ghosts_arguments);
/// Blocks with their ghost cells, in primitive variables, for full3d, species and spin (ghosts_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(gather_tiles, tiles_arguments);
/// Fluxes of finer blocks replace coarser ones (step_end_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(correct_fluxes, correction_arguments);
/// Outflow through the domain boundaries (step_end_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(sum_sides, side_arguments);
/// The end of a step (step_end_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(finish_step, finish_arguments);
/// Refinement criteria of all blocks (regrid_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(mark_cells, marks_arguments);
/// Values of new blocks (regrid_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(move_values, move_arguments);
/// Floors and speeds of new blocks (regrid_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(check_blocks, check_arguments);
/// Totals of the conserved variables (step_end_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(sum_totals, totals_arguments);

/// Exchange between parts of a mesh (regrid_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(copy_boxes, copy_arguments);

/// Upper bound of the shared memory that a thread block of a step needs on a device.
std::size_t group_bytes_of(const hydro_parameters& p);

}  // namespace plx::star::device
