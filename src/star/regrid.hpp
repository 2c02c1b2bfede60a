// The next mesh: blocks split and merged as the flags ask, their values made, and blocks moved between localities where
// that pays.
//
// A new block is made where its values come from: children where the parent is, a merged block where its first child
// is, which gets the other children if they are elsewhere. Then blocks go where the balancer wants them.
//
// Thread safety: all localities call these, each in a task, alone. Results depend neither on the schedule nor on who
// has which block. Cost: mesh/regrid.hpp, and what moves. Errors: locality_lost, thrown. Example:
// star/localities_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/regrid.hpp"
#include "star/balancer.hpp"
#include "star/block_costs.hpp"
#include "star/gas.hpp"

namespace plx::star {

/// What a regrid works with.
struct regrid_tools {
  worker_scratch& scratch;
  block_costs& costs;  ///< carried along with the blocks
  balancer& balance;
};

struct regrid_result {
  std::vector<mesh::family> refined, merged;
  bool moved = false;   ///< blocks went to other localities
  floor_counts floors;  ///< of own new blocks

  bool changed() const { return moved || !refined.empty() || !merged.empty(); }
};

/// Makes the next mesh from the flags, moves the values, and checks new blocks (floors are counted). `steps`: advanced
/// since the last call. Returns what changed; g.mesh is the new mesh. Call stepper::adopt_mesh() after a change.
regrid_result regrid(gas& g, const setup& s, const std::vector<mesh::flag>& flags, int coarsen_after,
                     std::int64_t steps, const regrid_tools& tools);

/// The mesh and the state at time 0: refined until the criteria ask for no more, each level set from the problem
/// itself, cut into equal parts. Returns the floors applied to own blocks.
floor_counts build_initial(gas& g, const setup& s, const refinement_options& options, const problem& p,
                           worker_scratch& scratch);

}  // namespace plx::star
