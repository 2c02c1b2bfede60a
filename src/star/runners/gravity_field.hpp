// Potential and acceleration of the gas outside of a time step: the passes of self-gravity on the workers, for the
// state between steps. For diagnostics and models; runs on a device copy the state to the host first.
//
// Thread safety: one call at a time. Cost: solve() that of one solution on the workers (docs/plx-star.md, section
// Self-gravity), with memory for another set of the fields of gravity. Results are the same for any number of workers
// and localities. Example: star/diagnostics/star_diagnostics.cpp
#pragma once

#include <memory>

#include "star/gravity/options.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

class gravity_field {
 public:
  /// Requires: options that gravity::self_gravity::make() accepts, with the constant; `g` outlives the field.
  gravity_field(const gas& g, const gravity::gravity_options& o);
  ~gravity_field();

  /// Computes the field of g.now. All localities call it, each in a task. Requires: the values are on the host. Errors:
  /// locality_lost, thrown.
  void solve();
  /// The field of a local block, after solve(). Shapes: [4][k][j][i]: potential, then acceleration along x, y, z.
  const double* values(mesh::slot_id slot) const;

 private:
  class passes;
  std::unique_ptr<passes> passes_;
};

}  // namespace plx::star
