// The next mesh: blocks split into eight or merged eight into one, 2:1 balance preserved, values transferred
// conservatively.
//
//   if (count_requests(mesh, flags, coarsen_after)) return;      // most checks change nothing
//   regrid_plan plan = plan_regrid(mesh, flags, coarsen_after);
//   move_values(plan, mesh, u, sides, scratch);                  // or in parallel, see below
//   mesh = std::move(plan.next);
//
// New blocks take slots that are free in the old mesh, lowest first; so old and new values never share memory,
// transfers are independent of each other, and slots of removed blocks become free for the next regrid only.
//
// Thread safety: changes_mesh and plan_regrid are pure; refine_values and merge_values may run concurrently for
// different indices.
// Cost: the decision that nothing changes 1 ns per block, a plan 0.3 to 4 us per block; a refinement about 60 us, a
// merge 5 us for N = 8 and 6 variables. Example: mesh/tree/test/regrid_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/between/gather.hpp"
#include "mesh/field/arena.hpp"
#include "mesh/tree/block_mesh.hpp"

namespace plx::mesh {

/// The request of a block.
enum class flag : std::int8_t { coarsen = -1, keep = 0, refine = 1 };

/// A block and the eight into which it is split, or from which it is merged; child 0..7 as child_of().
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

/// Does plan_regrid() with these arguments split or merge any block? The same decision, without a plan.
/// Cost: 1 ns per block; no allocation.
bool changes_mesh(const block_mesh& mesh, std::span<const flag> flags, int coarsen_after);

/// A check that leaves the mesh as it is: counts the requests for coarsening in `mesh`, which is then the `next` of
/// plan_regrid(), and returns true. If any block splits or merges: false, and `mesh` is as before.
/// Shapes, cost: as changes_mesh().
bool count_requests(block_mesh& mesh, std::span<const flag> flags, int coarsen_after);

/// Decides which blocks split and merge. Refinement has precedence: a block splits if it requests it (below max_level)
/// or if a neighbour's split would violate the 2:1 balance. Eight siblings merge if all have requested it
/// `coarsen_after` times in a row (each call is one time) and the balance permits.
/// Shapes:   flags: by slot, mesh.slot_count() of them; those of free slots are ignored.
regrid_plan plan_regrid(const block_mesh& mesh, std::span<const flag> flags, int coarsen_after);

/// Fills the children of plan.refined[index] by limited linear prolongation of the parent's cells; the mean of each
/// eight is preserved to rounding. Requires: values.resize(plan.next.slot_count()) was called.
void refine_values(const regrid_plan& plan, const block_mesh& old, arena& values, std::size_t index,
                   const boundary_values& sides, tile_scratch& scratch);

/// Fills the parent of plan.merged[index] with the means of the children's cells. Requires: as above.
void merge_values(const regrid_plan& plan, arena& values, std::size_t index);

/// Resizes the arena and performs all transfers, one after the other.
void move_values(const regrid_plan& plan, const block_mesh& old, arena& values, const boundary_values& sides,
                 tile_scratch& scratch);

}  // namespace plx::mesh
