// The field of a point mass (point_mass.hpp) as a module of the step: momentum gains rho g, energy m . g, with the
// state of each stage.
//
// Thread safety: const; any thread. Cost: some 2 ns per cell and stage. Example: star/test/point_mass_test.cpp
#pragma once

#include <string>
#include <vector>

#include "star/gravity/point_mass.hpp"
#include "star/step/gas_step.hpp"

namespace plx::star::gravity {

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
