// The limit of the number of blocks, refinement.max_blocks: thresholds of the refinement criteria are weakened by a
// factor until the next mesh has at most that number. The factor is 2^(step/8); each check begins with the factor of
// the one before, so it is part of a checkpoint.
//
// Thread safety: none. Results depend on the mesh, the flags and the state only, so they are the same on all
// localities. Cost: one evaluation of the criteria and one plan of a mesh per factor tried: one while the factor
// is 1, two while it stays, some ten after a sudden change. Example: star/refine/test/block_limit_test.cpp
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "mesh/tree/regrid.hpp"
#include "star/refine/options.hpp"

namespace plx::star {

class block_limit {
 public:
  explicit block_limit(const refinement_options& o)
      : most_(static_cast<std::size_t>(o.max_blocks)), coarsen_after_(static_cast<int>(o.coarsen_after)) {}

  bool present() const { return most_ > 0; }
  /// The factor of the thresholds, at least 1.
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
  int step_ = 0;
};

}  // namespace plx::star
