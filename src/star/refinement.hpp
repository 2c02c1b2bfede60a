// Where the mesh shall be finer or coarser: the criteria of [refinement], with buffer cells around what they mark.
//
// Thread safety: call from a task, alone, on all localities; blocks are looked at in parallel. Results depend neither
// on the schedule nor on who has which block, and mirror and permute with the state. Cost: about 30 us per block of 8^3
// cells. Example: star/refinement_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/regrid.hpp"
#include "star/gas.hpp"

namespace plx::star::device {
struct cell_criteria;
}

namespace plx::star {

/// What each block asks for, by slot: of all localities' blocks. Requires: the mirrors of g.now are up to date.
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

/// The same from what a device says of the blocks' cells. Shapes: marks: by position.
std::vector<mesh::flag> refinement_flags(const gas& g, const refinement_options& options,
                                         std::span<const std::uint32_t> marks);
/// The criteria of cells, as a device takes them.
device::cell_criteria criteria_of(const refinement_options& options, int block_size);

}  // namespace plx::star
