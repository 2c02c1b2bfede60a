// Ghosts that lie in coarser blocks: a tile of half the resolution, then prolongation. Inside mesh only.
//
// The coarse tile covers the block's own footprint and three coarse cells around; where the neighbours are coarser it
// is a copy, elsewhere (needed for slopes only) the mean of eight. 2:1 balance makes one level enough.
//
// Thread safety: as gather_tile. Cost: about as much as the kernel's reading of those ghosts; only boxes that are
// needed are filled. Example: mesh/gather_test.cpp
#pragma once

#include <cstdint>

#include "mesh/arena.hpp"
#include "mesh/block_mesh.hpp"
#include "mesh/tile.hpp"

namespace plx::mesh {

/// Fills the ghosts in `wanted` (bits by direction, all of relation coarser) of scratch.tile(). `faces_only`: there are
/// only directions across faces among them.
void prolong_ghosts(const block_mesh& mesh, const arena& values, slot_id slot, const boundary_values& sides,
                    tile_scratch& scratch, std::uint32_t wanted, bool faces_only);

}  // namespace plx::mesh
