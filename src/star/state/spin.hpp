// The spin of the cells on workers, outside of the kernels (star/device/data/spin_rule.hpp).
//
// Thread safety: that of the gas: different blocks may be used concurrently. Requires: gas::spin >= 0. Cost: some ns
// per cell. Example: star/test/spin_test.cpp
#pragma once

#include <vector>

#include "mesh/tree/regrid.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

/// Completes the kernel's flux of the spin through a face of a block to blocks of another level or of the domain
/// (device::arm_of_flux()). Shapes: flux: [variable][n][n], as stage_output::face_flux.
void complete_spin_flux(const mesh::block_mesh& mesh, mesh::slot_id slot, int face, int spin, double* flux);

/// After mesh::refine_values() and mesh::merge_values() (device::cell_family).
void refine_spin(gas& g, const mesh::family& made);
void merge_spin(gas& g, const mesh::family& made);

/// Sets the spin of all local blocks to that of their velocities. Requires: mirrors are up to date; call it in a task.
/// The spin of mirrors is not set.
void start_spin(gas& g, worker_scratch& scratch);

/// Angular momentum per volume of each cell about the origin, one component.
std::vector<double> angular_momentum(const gas& g, mesh::slot_id slot, int component);

}  // namespace plx::star
