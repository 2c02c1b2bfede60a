// The next mesh: blocks split into eight or merged eight into one, 2:1 balance kept, values moved conservatively.
//
//   regrid_plan plan = plan_regrid(mesh, flags, coarsen_after);
//   if (plan.changed()) move_values(plan, mesh, u, sides, scratch);   // or in parallel, see below
//   mesh = std::move(plan.next);
//
// New blocks take slots that are free in the old mesh, lowest first; so old and new values never share memory, the
// moves are independent of each other, and slots of removed blocks are free only for the regrid after.
//
// Thread safety: plan_regrid is pure; refine_values and merge_values may run at the same time for different indices.
// Cost: planning about 3 us per block; a refinement about 60 us, a merge 5 us for N = 8 and 6 variables.
// Example: mesh/regrid_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/arena.hpp"
#include "mesh/block_mesh.hpp"
#include "mesh/tile.hpp"

namespace plx::mesh {

/// What a block asks for.
enum class flag : std::int8_t { coarsen = -1, keep = 0, refine = 1 };

/// One block and the eight that it becomes, or that become it; child 0..7 as child_of().
struct family {
  slot_id parent = no_slot;
  std::array<slot_id, 8> children{};
};

struct regrid_plan {
  block_mesh next;
  std::vector<family> refined;  ///< in the order of the old curve
  std::vector<family> merged;

  bool changed() const { return !refined.empty() || !merged.empty(); }
};

/// Decides which blocks split and merge. Refining wins: a block splits when it asks to (below max_level) or when a
/// neighbour's split would break 2:1. Eight siblings merge when all have asked `coarsen_after` times in a row (each
/// call is one time) and balance allows. Shapes:   flags: by slot, mesh.slot_count() of them; those of free slots are
/// ignored.
regrid_plan plan_regrid(const block_mesh& mesh, std::span<const flag> flags, int coarsen_after);

/// Fills the children of plan.refined[index] by limited linear prolongation of the parent's cells: each eight keep
/// their mean to rounding. Requires: values.resize(plan.next.slot_count()) was called.
void refine_values(const regrid_plan& plan, const block_mesh& old, arena& values, std::size_t index,
                   const boundary_values& sides, tile_scratch& scratch);

/// Fills the parent of plan.merged[index] with the means of the children's cells. Requires: as above.
void merge_values(const regrid_plan& plan, arena& values, std::size_t index);

/// Resizes and does all of the above, one after the other.
void move_values(const regrid_plan& plan, const block_mesh& old, arena& values, const boundary_values& sides,
                 tile_scratch& scratch);

}  // namespace plx::mesh
