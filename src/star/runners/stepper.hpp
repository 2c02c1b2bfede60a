// One time step of the whole mesh. describe() lists its passes (step/recipe.hpp); the runner executes them as tasks,
// each of which starts as soon as its inputs are there, on all localities.
//
// Results do not depend on the schedule. The state at the start of the step is not overwritten, so a step that fails
// leaves the last good state. At the end of a step all localities agree on its outcome.
//
// Thread safety: one step at a time, from a task. Cost: that of the kernels and of step/task_runner.hpp.
// Example: star/runners/test/stepper_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mesh/field/face_fluxes.hpp"
#include "num/exact_sum.hpp"
#include "star/hydro/stage.hpp"
#include "star/state/gas.hpp"

namespace plx::step {
struct border_group;
class node_graph;
class task_runner;
}  // namespace plx::step

namespace plx::star {

class gravity_field;

class stepper {
 public:
  /// Requires: `g` outlives the stepper; workers: those of the runtime whose tasks call advance().
  stepper(gas& g, const setup& s, unsigned workers);
  ~stepper();

  /// Call it after the mesh of the gas has changed.
  void adopt_mesh();

  /// Advances the gas by dt, or returns the first bad cell (in the order of stages, then of the curve; the same on all
  /// localities) and leaves the gas unchanged. Requires: called by a task, on all localities with the same dt.
  /// Errors: locality_lost, thrown.
  /// `time`: at the start of the step, for additional physics.
  std::optional<bad_cell> advance(double dt, double time);
  /// Largest sum over axes of (|v| + c) / dx in the whole gas, after a step.
  double signal_rate() const { return signal_rate_; }
  /// Bits that reach all localities at the end of the next step.
  void wish(std::uint32_t bits) { my_wishes_ |= bits; }
  /// The bits that any locality requested before the last step.
  std::uint32_t wishes() const { return wishes_; }

  const floor_counts& floors() const { return floors_; }  ///< of all steps so far, on all localities
  floor_counts& floors() { return floors_; }
  const floor_amounts& added() const { return added_; }  ///< what floors have changed in the whole gas
  floor_amounts& added() { return added_; }
  const mesh::side_totals& left() const { return left_; }  ///< outflow through the boundaries of the whole domain
  mesh::side_totals& left() { return left_; }
  /// The sums of modules (step_module::sums()) over local blocks, after the last step that succeeded.
  const std::vector<exact_sum>& sums() const { return sums_; }
  /// Copies the field of gravity of the present state, which the last step has left. False: no step has succeeded on
  /// this mesh, or the last one failed. Requires: a module with step_module::potential(). Called by a task.
  bool copy_gravity(gravity_field& to) const;
  /// Worker that last advanced a block. Requires: a live slot.
  unsigned worker_of(mesh::slot_id slot) const;
  /// The nodes of the mesh of the last adopt_mesh().
  const step::node_graph& nodes() const;
  worker_scratch& scratch() { return scratch_; }

 private:
  class passes;
  /// Findings of the passes of a step on a block.
  struct alignas(64) block_report {
    floor_counts floors;
    double signal_rate = 0.0;
    std::int32_t bad_cell = -1;
    std::int16_t bad_stage = 0;
  };

  mesh::arena& state(int stage);
  void advance_block(mesh::slot_id slot, int stage, const double* potential, double* work);
  void correct_block(mesh::slot_id slot, int stage, const double* potential);
  void check_block(mesh::slot_id slot, int stage);
  void check_cells_of(mesh::arena& values, mesh::slot_id slot, int stage, const double* potential, const cell_box& box);
  void note(mesh::slot_id slot, int stage, const stage_output& out);
  std::optional<bad_cell> first_bad() const;
  std::optional<bad_cell> agree();
  void commit();

  gas& gas_;
  hydro_parameters hydro_;
  integrator scheme_;
  stage_work work_of_stage_;  // of a block
  worker_scratch scratch_;
  mesh::flux_register fluxes_;
  mesh::side_totals left_;
  floor_counts floors_;
  floor_amounts added_;
  std::vector<exact_sum> sums_;
  std::unique_ptr<passes> passes_;
  std::unique_ptr<step::task_runner> runner_;
  std::vector<block_report> reports_;  // by slot
  double dt_ = 0.0, time_ = 0.0;
  std::int32_t carried_ = 0;  // pass_view::carried
  double signal_rate_ = 0.0;
  std::uint32_t my_wishes_ = 0, wishes_ = 0;
};

/// The messages of a halo: ghost cells, or fluxes of that many doubles per face.
std::vector<step::border_group> border_groups(std::span<const mesh::halo_group> groups);
std::vector<step::border_group> border_groups(std::span<const mesh::flux_group> groups, std::size_t face_doubles);

}  // namespace plx::star
