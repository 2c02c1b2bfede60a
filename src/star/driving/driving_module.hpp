// Driving as a module of the step: every cell loses the same share of its angular momentum about the z axis per time,
// by a force along the tangent, and gains the same share of its thermal energy. Used to bring a binary into contact,
// and to let a star swell or shrink.
//
// Thread safety: const; any thread. Cost: some 4 ns per cell and stage; a device reports each step to the host.
// Example: star/test/driving_test.cpp
#pragma once

#include <string>
#include <vector>

#include "star/driving/driving_pass.hpp"
#include "star/driving/options.hpp"
#include "star/step/gas_step.hpp"

namespace plx::star {

class driving_module final : public step_module {
 public:
  /// Requires: o.check().
  driving_module(const driving_options& o, const eos_parameters& eos);

  bool keeps_mass() const override { return true; }
  /// Totals that driving has added to the gas since the start of the run: angular momentum about the z axis, kinetic
  /// energy, and heat.
  std::vector<std::string> sums() const override {
    return {"driving_angular_momentum", "driving_work", "driving_heat"};
  }
  bool sums_accumulate() const override { return true; }
  void after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override;
  void after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override;

 private:
  driving_rates rates_;
};

}  // namespace plx::star
