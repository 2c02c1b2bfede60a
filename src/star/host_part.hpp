// The part of the mesh that the CPU's workers advance beside devices: stage by stage, with a task per block. It
// computes what the stepper computes, with input from the other parts in messages.
//
// Thread safety: one task at a time. Cost: as star/stepper.hpp, plus a barrier of the workers at the end of each stage.
// Example: star/shared_course_test.cpp
#pragma once

#include <span>
#include <vector>

#include "mesh/flux_register.hpp"
#include "mesh/side_totals.hpp"
#include "star/device/part_borders.hpp"
#include "star/device/step_data.hpp"
#include "star/gas.hpp"

namespace plx::star {

class host_part {
 public:
  /// Requires: all arguments outlive it. The values are in g.now, g.stage_a and g.stage_b.
  host_part(gas& g, const setup& s, worker_scratch& scratch);

  void adopt(const mesh::curve_parts& parts, int here);
  const device::part_borders& borders() const { return borders_; }
  /// Runs one stage of all blocks and writes fluxes for other parts to `fluxes`. Shapes: as borders() says.
  void advance(int stage, double dt, double* fluxes);
  void put_fluxes_in(int group, const double* message);
  void correct(int stage, double dt);
  void put_ghosts_out(int stage, double* message) const;
  void put_ghosts_in(int stage, int group, const double* message);
  /// The reports of the blocks on the step, in the order of the curve, with rates instead of speeds; resets them.
  std::vector<device::block_report> end_step();
  void add_left(std::span<exact_sum> sums);
  void forget_left() { left_.take(); }  ///< discards the outflow of a step that failed

 private:
  mesh::arena& source(int stage) { return stage == 0 ? gas_.now : stage == 1 ? gas_.stage_a : gas_.stage_b; }
  mesh::arena& target(int stage) const { return stage == 1 ? gas_.stage_b : gas_.stage_a; }
  bool is_last(int stage) const { return stage + 1 == setup_.scheme.stages; }
  void advance_block(std::size_t index, int stage, double dt, double* fluxes);
  void keep_fluxes(mesh::slot_id slot, const stage_output& out, double weight_s, double* fluxes);

  gas& gas_;
  const setup& setup_;
  worker_scratch& scratch_;
  mesh::flux_register fluxes_;
  mesh::side_totals left_;
  device::part_borders borders_;
  std::vector<mesh::slot_id> blocks_;
  std::vector<device::block_report> reports_;
};

}  // namespace plx::star
