// Ghosts beyond the sides of the domain, from the cells of the same tile.
//
// Thread safety: pure but for the tile. Cost: a few copies per ghost.
// Example: mesh/gather_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/domain.hpp"

namespace plx::mesh {

/// Which faces of a block lie on a side of the domain (bit f), from the directions beyond it (bits 0..26).
std::uint32_t side_faces(std::uint32_t side_directions);

/// Fills the ghosts of a tile beyond the faces in the mask: x first, then y over what x filled, then z. `faces_only`
/// leaves out those beyond edges and corners of the block.
/// Shapes:   tile: [variable][k][j][i], width = n + 2 * ghosts cells along each axis.
/// Outflow:  the cell at the side; the normal component of a vector is turned outward (v becomes -|v| at a lower
///           side), which as a wall lets nothing in, and keeps the other variables consistent with it.
/// Requires: values.inflow[face] has a value per variable where the side is inflow.
void fill_sides(double* tile, int n, const std::vector<variable>& variables, std::uint32_t face_mask, const domain& d,
                const boundary_values& values, bool faces_only);

}  // namespace plx::mesh
