// The regrid: splits and merges blocks as the flags request, computes their values, and moves blocks between localities
// where that pays.
//
// A new block is made on the locality that has its input: children where the parent is, a merged block where its first
// child is, which receives the other children if they are remote. Then blocks move as the balancer decides. The plan
// needs no values, so values that are elsewhere need to come only if it changes anything.
//
// Thread safety: all localities call these, each in a task, exclusively. Results do not depend on the schedule or the
// partition. Cost: mesh/tree/regrid.hpp, and the data that moves. Errors: locality_lost, thrown. Example:
// star/test/localities_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "mesh/tree/regrid.hpp"
#include "num/exact_sum.hpp"
#include "star/driver/balancer.hpp"
#include "star/refine/refinement.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

// ---- The limit of the number of blocks, refinement.max_blocks: thresholds of the refinement criteria are weakened by
// a factor until the next mesh has at most that number. The factor is 2^(step/8), with refinement.fill_blocks also
// below 1, as small as fits; each check begins with the factor of the one before, so it is part of a checkpoint.
//
// Results depend on the mesh, the flags and the state only, so they are the same on all localities. Cost: one
// evaluation of the criteria and one plan of a mesh per factor tried: one while the factor is 1 (or the smallest), two
// while it stays, some ten after a sudden change.

class block_limit {
 public:
  explicit block_limit(const refinement_options& o)
      : most_(static_cast<std::size_t>(o.max_blocks)),
        coarsen_after_(static_cast<int>(o.coarsen_after)),
        first_step_(o.fill_blocks ? -80 : 0) {}

  bool present() const { return most_ > 0; }
  /// The factor of the thresholds: at least 1, or 2^-10 with refinement.fill_blocks.
  double weakening() const { return factor(step_); }

  /// The flags of the strongest thresholds whose mesh fits, and their factor in weakening(). flags_at(factor) evaluates
  /// the criteria; all localities call it the same number of times. If no mesh fits, because of regions or because
  /// blocks have to be coarsened first: the flags of the weakest thresholds.
  std::vector<mesh::flag> choose(const mesh::block_mesh& mesh,
                                 const std::function<std::vector<mesh::flag>(double)>& flags_at);

  /// For checkpoints.
  double state() const { return step_; }
  void restore(double state);

 private:
  static double factor(int step);
  bool fits(const mesh::block_mesh& mesh, const std::vector<mesh::flag>& flags) const;

  std::size_t most_;
  int coarsen_after_;
  int first_step_;  // the smallest
  int step_ = 0;
};

// ---- the regrid

/// Objects that a regrid uses.
struct regrid_tools {
  worker_scratch& scratch;
  block_costs& costs;  ///< carried over with the blocks
  balancer& balance;
};

/// The next mesh, and which locality has which of its blocks.
struct next_mesh {
  std::optional<mesh::regrid_plan> plan;  ///< none: neither the mesh nor the partition changes
  mesh::curve_parts held;                 ///< where new blocks are made
  mesh::curve_parts wanted;               ///< after blocks have moved

  bool changed() const { return plan.has_value(); }
};

/// Plans the next mesh from the flags; if the mesh stays, the requests are counted in it. `steps`: advanced since the
/// last call. The same on all localities.
next_mesh plan_next_mesh(gas& g, const std::vector<mesh::flag>& flags, int coarsen_after, std::int64_t steps,
                         balancer& balance);

struct regrid_result {
  std::vector<mesh::family> refined, merged;
  bool moved = false;            ///< blocks moved to other localities
  floor_counts floors;           ///< in new local blocks
  std::vector<exact_sum> added;  ///< by these: floor_amounts

  bool changed() const { return moved || !refined.empty() || !merged.empty(); }
};

/// Makes the next mesh, moves the values, and checks new blocks (floors are counted). Requires: values of local blocks
/// and mirrors, if next.changed(). Returns the changes; g.mesh is the new mesh. Call stepper::adopt_mesh() after a
/// change.
regrid_result regrid(gas& g, const setup& s, next_mesh next, const regrid_tools& tools);

/// Builds the mesh and the state at time 0: refined until the criteria request no more, each level initialized from the
/// problem, in parts of equal numbers of blocks. `limit`: keeps the weakening of the thresholds that
/// refinement.max_blocks requires, for the checks that follow. `solve`: computes gravity in the present state, if there
/// are refinement.potential_levels. Returns the floors applied to local blocks.
floor_counts build_initial(gas& g, const setup& s, const refinement_options& options, const problem& p,
                           worker_scratch& scratch, block_limit& limit,
                           const std::function<const gravity_field&()>& solve);
/// The same with a limit of its own. Requires: no potential_levels.
floor_counts build_initial(gas& g, const setup& s, const refinement_options& options, const problem& p,
                           worker_scratch& scratch);

}  // namespace plx::star
