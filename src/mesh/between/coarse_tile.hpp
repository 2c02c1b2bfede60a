// Ghost cells in coarser blocks: a tile of half the resolution, then prolongation. Private to mesh.
//
// The coarse tile covers the block's own footprint and three coarse cells around it. Where the neighbours are coarser
// it is a copy, elsewhere (needed for slopes only) the mean of eight cells. By the 2:1 balance one level is enough.
//
// Thread safety: as gather_tile. Cost: about that of the kernel's reading of those ghost cells; only the boxes that are
// needed are filled. Example: mesh/between/test/gather_test.cpp
#pragma once

#include <cstdint>

#include "mesh/between/tile.hpp"
#include "mesh/field/arena.hpp"
#include "mesh/tree/block_mesh.hpp"

namespace plx::mesh {

/// Fills the ghost cells in `wanted` (bits by direction, all of relation coarser) of scratch.tile(). `faces_only`: all
/// of them are directions across faces.
void prolong_ghosts(const block_mesh& mesh, const arena& values, slot_id slot, const boundary_values& sides,
                    tile_scratch& scratch, std::uint32_t wanted, bool faces_only);

}  // namespace plx::mesh
