// A mesh that rotates about the z axis with a constant angular velocity. Positions are those on the mesh; momenta and
// energies are those of an inertial frame, in the directions of the mesh at the time. The faces move,
// hydro_parameters::omega; this module rotates the momenta.
//
// Thread safety: const; any thread. Cost: a pass over the blocks in each stage. Example: star/test/frame_test.cpp
#pragma once

#include <vector>

#include "star/frame/options.hpp"
#include "star/step/gas_step.hpp"

namespace plx::star {

/// Requires: it is the last of the modules, so that it rotates what others add to the momenta too.
class rotating_frame final : public step_module {
 public:
  /// `spin`: the first of the variables of the spin, or -1.
  explicit rotating_frame(double omega, int spin = -1) : omega_(omega), spin_(spin) {}
  bool keeps_mass() const override { return true; }
  void after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override;

 private:
  double omega_;
  int spin_;
};

}  // namespace plx::star
