// Gathers a block with its ghost cells from the interiors of the blocks around it.
//
// Same level: copied. Finer: the mean of eight cells. Coarser: conservative limited prolongation. Outside the domain:
// the boundary conditions. Every rule is symmetric to the last bit under mirrors and permutations of the axes
// (mesh/field/symmetric.hpp); only ghost cells outside two inflow/outflow boundaries at once depend on the order x, y,
// z.
//
// Thread safety: any number of threads, each with its own scratch, while no task writes the block or those that touch
// it (block_mesh::touching). Cost: docs/mesh.md. Example: mesh/between/test/gather_test.cpp
#pragma once

#include <optional>

#include "mesh/between/tile.hpp"
#include "mesh/field/arena.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "mesh/tree/domain.hpp"

namespace plx::mesh {

/// `time`: that of the state, for boundaries of the kind `problem`; without it they are zero gradients.
/// Fills scratch.tile(), [variable][k][j][i] with tile_width(N) cells along each axis, and returns it.
/// Requires: the arena has the mesh's slots and block size; values.inflow for inflow boundaries.
double* gather_tile(const block_mesh& mesh, const arena& values, slot_id slot, const boundary_values& sides,
                    tile_scratch& scratch, reach wanted = reach::full, std::optional<double> time = {});

}  // namespace plx::mesh
