// The limit of the number of blocks, refinement.max_blocks: thresholds of the refinement criteria are weakened by a
// factor until the next mesh has at most that number. The factor is 2^(step/8); each check begins with the factor of
// the one before, so it is part of a checkpoint.
//
// Thread safety: none. Results depend on the mesh, the flags and the state only, so they are the same on all
// localities. Cost: one evaluation of the criteria and one plan of a mesh per factor tried: one at all while the factor
// is 1, two while it stays, some ten after a sudden change. Example: star/refine/test/block_limit_test.cpp
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
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
  template <class F>
  std::vector<mesh::flag> choose(const mesh::block_mesh& mesh, F&& flags_at);

  /// For checkpoints.
  double state() const { return step_; }
  void restore(double state) { step_ = std::min(std::max(static_cast<int>(state), 0), last_step); }

 private:
  static constexpr int last_step = 1024;     // a factor of 2^128
  static constexpr int most_steps_back = 8;  // per check
  static double factor(int step) { return std::ldexp(eighths[step % 8], step / 8); }
  static constexpr double eighths[8] = {1.0,  // 2^(i/8), the same bits everywhere
                                        1.0905077326652577,
                                        1.189207115002721,
                                        1.2968395546510096,
                                        1.4142135623730951,
                                        1.5422108254079407,
                                        1.681792830507429,
                                        1.8340080864093424};

  /// A mesh above the limit, which can only be coarsened, fits if all its requests together would bring it below.
  bool fits(const mesh::block_mesh& mesh, const std::vector<mesh::flag>& flags) const {
    const int votes = mesh.block_count() > most_ ? 1 : coarsen_after_;
    return mesh::plan_regrid(mesh, flags, votes).next.block_count() <= most_;
  }

  std::size_t most_;
  int coarsen_after_;
  int step_ = 0;
};

template <class F>
std::vector<mesh::flag> block_limit::choose(const mesh::block_mesh& mesh, F&& flags_at) {
  std::vector<mesh::flag> flags = flags_at(factor(step_));
  if (!present()) return flags;
  if (fits(mesh, flags)) {
    for (int i = 0; i < most_steps_back && step_ > 0; ++i) {
      std::vector<mesh::flag> stronger = flags_at(factor(step_ - 1));
      if (!fits(mesh, stronger)) break;
      flags = std::move(stronger);
      --step_;
    }
    return flags;
  }
  // The mesh of `low` does not fit; that of step_ does, or step_ is the last.
  int low = step_;
  for (int width = 1; low < last_step; width *= 2) {
    step_ = std::min(low + width, last_step);
    flags = flags_at(factor(step_));
    if (step_ == last_step || fits(mesh, flags)) break;
    low = step_;
  }
  while (step_ - low > 1) {
    const int middle = low + (step_ - low) / 2;
    std::vector<mesh::flag> stronger = flags_at(factor(middle));
    if (fits(mesh, stronger)) {
      flags = std::move(stronger);
      step_ = middle;
    } else {
      low = middle;
    }
  }
  return flags;
}

}  // namespace plx::star
