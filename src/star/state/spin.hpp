// The spin of the cells outside of the kernels: with hydro_parameters::spin, a cell has the angular momentum
// x cross m + l per volume, x its centre and m its momentum. The variable is 12 l / dx^2, which does not depend on dx
// where the velocity is smooth (star/hydro/kernel/kernel_spin.hpp). Fluxes and new blocks account for the part x cross
// m that changes with the place of a face or a cell, so that the total is conserved to rounding on a refined mesh.
//
// Thread safety: that of the gas: different blocks may be used concurrently. Requires: gas::spin >= 0. Cost: some ns
// per cell. Example: star/test/spin_test.cpp
#pragma once

#include <vector>

#include "mesh/tree/regrid.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

/// Completes the kernel's flux of the spin through a face of a block, for:
/// - a face to blocks of another level: the flux of angular momentum about the centre of the cell of the coarser block,
///   times 12 / dx^2 of that block;
/// - a face of the domain: the flux of angular momentum about the origin.
/// Shapes: flux: [variable][n][n], as stage_output::face_flux.
void complete_spin_flux(const mesh::block_mesh& mesh, mesh::slot_id slot, int face, int spin, double* flux);

/// After mesh::refine_values() and mesh::merge_values(): angular momentum that interpolation has put into x cross m,
/// or that a mean has taken from it, is taken from the spin of the same cells, or put there.
void refine_spin(gas& g, const mesh::family& made);
void merge_spin(gas& g, const mesh::family& made);

/// Sets the spin of all local blocks to that of their velocities. Requires: mirrors are up to date; call it in a task.
/// The spin of mirrors is not set.
void start_spin(gas& g, worker_scratch& scratch);

/// Angular momentum per volume of each cell about the origin, one component.
std::vector<double> angular_momentum(const gas& g, mesh::slot_id slot, int component);

}  // namespace plx::star
