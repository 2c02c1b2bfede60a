// The parts of a stage of one block, for code that orders the blocks (stepper.hpp).
//
// Thread safety: different blocks may be processed concurrently, each with its worker's scratch. Cost: that of the
// kernels. Example: star/runners/stepper.cpp
#pragma once

#include <utility>

#include "mesh/field/flux_register.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

/// The kernel's input: the block's tile of `from`, the state that the stage reads, gathered into the scratch.
stage_input stage_input_of(const gas& g, const mesh::arena& from, mesh::slot_id slot, double dt,
                           const integrator& scheme, int stage, worker_scratch::one& mine);
/// The kernel's output: the block in `to`, and the fluxes through these faces (bits) into the scratch.
stage_output stage_output_to(mesh::arena& to, mesh::slot_id slot, std::uint32_t faces, worker_scratch::one& mine);

/// The layer of cells along a face.
cell_box cells_along(int face, int n);

/// Replaces the block's fluxes in `to` by those of finer neighbours. The cells along the corrected faces get new
/// values, so floors, the tracer and the signal rate are evaluated again for them and reported to note(1 + face,
/// stage_output).
template <class Note>
void correct_block(const gas& g, const hydro_parameters& hydro, const mesh::flux_register& fluxes, mesh::arena& to,
                   mesh::slot_id slot, double weighted_dt, Note&& note) {
  const mesh::block_mesh& m = g.mesh;
  const double dx = m.cell_width(slot);
  fluxes.apply(m, slot, weighted_dt / dx, to.block(slot));
  for (int f = 0; f < mesh::face_count; ++f) {
    if (m.across(slot, f).kind != mesh::relation::finer) continue;
    stage_output out;
    check_cells(hydro, to.block(slot), m.block_size(), dx, cells_along(f, m.block_size()), out);
    note(1 + f, std::as_const(out));
  }
}

}  // namespace plx::star
