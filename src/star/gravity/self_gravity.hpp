// Self-gravity of the gas as a module of the step: the options, and the passes of passes.hpp in each stage. With
// periodic boundaries along all axes, the images of the gas attract it, and the mean density does not (images.hpp);
// else the domain is isolated: no mass is outside of it.
//
// Thread safety: const; any thread. Cost: docs/plx-star.md, section Self-gravity: with the defaults, steps on CPUs take
// ten to twenty times as long as those of the gas alone. Example: star/test/gravity_test.cpp
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/domain.hpp"
#include "star/gravity/images.hpp"
#include "star/gravity/lattice.hpp"
#include "star/gravity/options.hpp"
#include "star/step/gas_step.hpp"

namespace plx::star::gravity {

struct layout;

class self_gravity final : public step_module {
 public:
  /// For meshes in this box. `omega`: angular velocity of the mesh, hydro_parameters::omega. Errors: an option that is
  /// out of range, or a box that is neither isolated nor one of make_images(), in one line.
  static result<std::unique_ptr<self_gravity>> make(const gravity_options& options, const mesh::domain& box,
                                                    double omega = 0.0);

  bool keeps_mass() const override { return true; }
  /// gravity_energy: half the sum of mass times potential, at the end of a step; gravity_energy_start: at its start, on
  /// the same mesh.
  std::vector<std::string> sums() const override { return {"gravity_energy_start", "gravity_energy"}; }

  /// The module's fields, in their order, for modules that read them; see layout.
  enum owned : std::size_t {
    masses,
    moments,
    locals,
    results,
    sums_of_nodes,
    correction,
    potentials,
    around,
    work,
    change,
    totals,  ///< of periodic boxes
    mean
  };

  void before_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                    gas_passes& on) const override;
  work_fields potential(const std::vector<node_field>& own) const override {
    return {own[around], own[work], own[results], own[correction]};
  }
  void after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override;
  void after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override;

 private:
  self_gravity() = default;
  layout layout_of(const std::vector<node_field>& own, step::recipe& r, gas_passes& on) const;
  void solve(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on, bool at_end) const;
  double constant_ = 1.0, omega_ = 0.0;
  int block_edge_ = 8, block_cells_ = 512;
  lattice_table table_;
  bool periodic_ = false;
  std::array<double, 3> lower_{};
  box_images images_;
};

}  // namespace plx::star::gravity
