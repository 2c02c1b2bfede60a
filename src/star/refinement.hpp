// Where the mesh shall be finer or coarser: the criteria of [refinement], with buffer cells around what they mark.
//
// Thread safety: call from a task, alone; blocks are looked at in parallel. Results do not depend on the schedule, and
// mirror and permute with the state. Cost: about 30 us per block of 8^3 cells. Example: star/refinement_test.cpp
#pragma once

#include <vector>

#include "mesh/regrid.hpp"
#include "star/gas.hpp"

namespace plx::star {

/// What each block asks for, by slot.
/// Criteria, for each cell:
///   gradient   of rho, press: |q1 - q0| / max(|q0|, |q1|) to each of the six neighbours; of velocities: |v1 - v0| over
///              the larger sound speed;
///   curvature  |q+ - 2 q + q-| / (|q+ - q| + |q - q-| + 0.01 (|q+| + 2 |q| + |q-|)) along each axis (Loehner 1987);
///   density    above density_levels[level];
///   region     the block overlaps a box that wants a deeper level.
/// A marked cell asks for its own block and for the neighbours within `buffer` cells. A block asks to be coarsened when
/// every cell is under the thresholds for that.
std::vector<mesh::flag> refinement_flags(const gas& g, const setup& s, const refinement_options& options,
                                         worker_scratch& scratch);

/// Makes the next mesh from the flags, moves the values, and checks new blocks (floors are counted).
/// Returns what changed; g.mesh is the new mesh. Call stepper::adopt_mesh() after a change.
struct regrid_result {
  std::vector<mesh::family> refined, merged;
  floor_counts floors;

  bool changed() const { return !refined.empty() || !merged.empty(); }
};
regrid_result regrid(gas& g, const setup& s, const std::vector<mesh::flag>& flags, int coarsen_after,
                     worker_scratch& scratch);

/// The mesh and the state at time t: refined until the criteria ask for no more, each level set from the problem
/// itself. Returns the floors applied.
floor_counts build_initial(gas& g, const setup& s, const refinement_options& options, const problem& p,
                           worker_scratch& scratch);

}  // namespace plx::star
