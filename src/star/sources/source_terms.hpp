// Source terms as modules of the step, a rotating frame, driving and a point mass, and the angular momentum of the gas.
//
// Thread safety: const; any thread. Cost: a pass over the blocks in each stage, of driving some 4 ns per cell and
// stage, of a point mass 2 ns; with driving a device reports each step to the host. Example: star/test/frame_test.cpp,
// star/test/driving_test.cpp, star/test/point_mass_test.cpp
#pragma once

#include <string>
#include <vector>

#include "star/gravity/options.hpp"
#include "star/sources/options.hpp"
#include "star/sources/source_passes.hpp"
#include "star/step/gas_step.hpp"

namespace plx::star {

/// A mesh that rotates about the z axis with a constant angular velocity. Positions are those on the mesh; momenta and
/// energies are those of an inertial frame, in the directions of the mesh at the time. The faces move,
/// hydro_parameters::omega; this module rotates the momenta.
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

/// Every cell loses the same share of its angular momentum about the z axis per time, by a force along the tangent, and
/// gains the same share of its thermal energy. Used to bring a binary into contact, and to let a star swell or shrink.
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

namespace plx::star::gravity {

/// The field of a point mass: momentum gains rho g, energy m . g, with the state of each stage.
class point_mass_module final : public step_module {
 public:
  explicit point_mass_module(const point_mass& field) : field_(field) {}

  bool keeps_mass() const override { return true; }
  /// point_mass_energy: the sum of mass times the potential of the point mass, at the end of the step. The gas has no
  /// part in the potential, so it counts fully, not half.
  std::vector<std::string> sums() const override { return {"point_mass_energy"}; }
  void after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override;
  void after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override;

 private:
  point_mass field_;
};

/// Columns angular_momentum_x, _y, _z of history.csv: of the gas about the origin of coordinates, the sum of position
/// (of the cell's centre) times momentum, at the end of the step. It changes nothing.
class angular_momentum_module final : public step_module {
 public:
  bool keeps_mass() const override { return true; }
  std::vector<std::string> sums() const override {
    return {"angular_momentum_x", "angular_momentum_y", "angular_momentum_z"};
  }
  void after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override;
};

}  // namespace plx::star::gravity
