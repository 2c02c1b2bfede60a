// Ghost cells outside the domain, computed from cells of the same tile.
//
// Thread safety: writes only to the tile. Cost: a few copies per ghost cell.
// Example: mesh/between/test/gather_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "mesh/tree/domain.hpp"

namespace plx::mesh {

/// The faces of a block on the boundary of the domain (bit f), from the directions outside it (bits 0..26).
std::uint32_t side_faces(std::uint32_t side_directions);

/// Fills the ghost cells of a tile outside the faces in the mask: x first, then y over the result of x, then z.
/// `faces_only` omits those at edges and corners of the block.
/// Shapes:   tile: [variable][k][j][i], width = n + 2 * ghosts cells along each axis.
/// Outflow:  the cell at the boundary; the normal component of a vector is turned outward (v becomes -|v| at a lower
///           boundary), which acts as a wall against inflow and keeps the other variables consistent with it. Requires:
///           values.inflow[face] has a value per variable for an inflow boundary.
void fill_sides(double* tile, int n, const std::vector<variable>& variables, std::uint32_t face_mask, const domain& d,
                const boundary_values& values, bool faces_only);

/// Fills those outside faces of the kind `problem` with values.outside at the centres of the cells, or by reflection
/// where it gives none: after fill_sides(), which leaves zero gradients there. Requires: values.outside.
void fill_outside(double* tile, const block_mesh& mesh, slot_id slot, const std::vector<variable>& variables,
                  std::uint32_t face_mask, const boundary_values& values, double time, bool faces_only);

}  // namespace plx::mesh
