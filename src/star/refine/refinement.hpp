// Refinement criteria: the mesh is refined or coarsened by those of [refinement], with buffer cells around marked
// cells.
//
// Thread safety: call from a task on all localities, exclusively; blocks are checked in parallel. Results do not depend
// on the schedule or the partition; a mirrored or permuted state gives mirrored or permuted results. Cost: about 30 us
// per block of 8^3 cells. Example: star/refine/test/refinement_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/tree/regrid.hpp"
#include "star/state/gas.hpp"

namespace plx::star::device {
struct cell_criteria;
}

namespace plx::star {

/// The request of each block of all localities, by slot. Requires: the mirrors of g.now are up to date.
/// Criteria, for each cell:
///   gradient   of rho, press: |q1 - q0| / max(|q0|, |q1|) to each of the six neighbours; of velocities: |v1 - v0| over
///              the larger sound speed;
///   curvature  |q+ - 2 q + q-| / (|q+ - q| + |q - q-| + 0.01 (|q+| + 2 |q| + |q-|)) along each axis (Loehner 1987);
///   density    above density_levels[level];
///   mass       of the cell above cell_mass;
///   Jeans      sqrt(pi c^2 / (G density)) below jeans_cells cells;
///   species    a mass fraction, or a value between it and that of a neighbour, in a range of `species`;
///   region     the block overlaps a box that requires a deeper level.
/// A marked cell requests refinement of its own block and of the neighbours within `buffer` cells; one that would be
/// marked in a block one level coarser, whose limits differ, requests that the neighbours are not coarser than its own.
/// A block requests coarsening when all its cells are below the thresholds for that. `weakening`: a factor, at least 1,
/// of all thresholds (refine/regrid.hpp).
std::vector<mesh::flag> refinement_flags(const gas& g, const setup& s, const refinement_options& options,
                                         worker_scratch& scratch, double weakening = 1.0);

/// The same from a device's marks of the blocks' cells. Shapes: marks: two of each local block, in the order of the
/// curve.
std::vector<mesh::flag> refinement_flags(const gas& g, const refinement_options& options,
                                         std::span<const std::uint32_t> marks);
/// The criteria of cells in the form that a device takes.
device::cell_criteria criteria_of(const refinement_options& options, const setup& s, double weakening);

}  // namespace plx::star
