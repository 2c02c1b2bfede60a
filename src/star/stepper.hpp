// One time step of the whole mesh as tasks: each Runge-Kutta stage of each block is one, and starts as soon as the
// block and those that touch it have finished the previous stage. There is no barrier between stages.
//
// A block's stage is finished when its values are final: if a neighbour across a face is finer, after the flux
// correction, which waits for the fluxes of the finer blocks. The last block to finish the last stage ends the step.
// Results do not depend on the schedule: each task writes only its own block, and reads only final values.
//
// Blocks of other localities are inputs like local ones: their values arrive in messages, one per group of
// mesh/halo.hpp, are copied into the mirrors and then counted. Blocks near other localities' parts are advanced first,
// so that messages travel while the rest is advanced. Between localities there is no barrier between stages either; at
// the end of a step all agree on its outcome.
//
// The state at the start of the step is not overwritten: the third stage is written to the memory of the first, whose
// readers are done by then. So a step that fails leaves the last good state.
// Invariants: docs/plx-star.md.
//
// Thread safety: one step at a time, from a task. Cost: about 0.2 us per task in addition to the kernels.
// Example: star/stepper_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mesh/flux_register.hpp"
#include "mesh/side_totals.hpp"
#include "rt/patterns/input_count.hpp"
#include "star/bad_cell.hpp"
#include "star/exchange.hpp"
#include "star/gas.hpp"
#include "star/stage_messages.hpp"

namespace plx::star {

class round_end;

class stepper final : private message_handler {
 public:
  /// Requires: `g` outlives the stepper; workers: those of the runtime whose tasks call advance().
  stepper(gas& g, const setup& s, unsigned workers);
  ~stepper() override;

  /// Call it after the mesh of the gas has changed.
  void adopt_mesh();

  /// Advances the gas by dt, or returns the first bad cell (in the order of stages, then of the curve; the same on all
  /// localities) and leaves the gas unchanged. Requires: called by a task, on all localities with the same dt.
  /// Errors: locality_lost, thrown.
  std::optional<bad_cell> advance(double dt);
  /// Largest sum over axes of (|v| + c) / dx in the whole gas, after a step.
  double signal_rate() const { return signal_rate_; }
  /// Bits that reach all localities at the end of the next step.
  void wish(std::uint32_t bits) { my_wishes_ |= bits; }
  /// The bits that any locality requested before the last step.
  std::uint32_t wishes() const { return wishes_; }

  const floor_counts& floors() const { return floors_; }  ///< of all steps so far, on all localities
  floor_counts& floors() { return floors_; }
  const mesh::side_totals& left() const { return left_; }  ///< outflow through the boundaries of the whole domain
  mesh::side_totals& left() { return left_; }
  /// Worker that last advanced a block. Requires: a live slot.
  unsigned worker_of(mesh::slot_id slot) const;
  worker_scratch& scratch() { return scratch_; }

 private:
  struct alignas(64) node;
  mesh::arena& source(int stage) { return stage == 0 ? gas_.now : stage == 1 ? gas_.stage_a : gas_.stage_b; }
  mesh::arena& target(int stage) { return stage == 1 ? gas_.stage_b : gas_.stage_a; }
  void order_blocks();
  void run_step();
  void post_stage(mesh::slot_id slot, int stage, input_count* inputs);
  void run_stage(mesh::slot_id slot, int stage);
  void keep_fluxes(mesh::slot_id slot, int stage, const stage_output& out, std::uint32_t to_register,
                   std::uint32_t to_sides);
  void fluxes_arrived(mesh::slot_id slot, int stage);
  void correct(mesh::slot_id slot, int stage);
  void finish(mesh::slot_id slot, int stage);
  void count_for_neighbours(mesh::slot_id slot, int stage);
  void one_finished();
  void note(mesh::slot_id slot, int stage, const stage_output& out);
  std::optional<bad_cell> first_bad() const;
  double largest_rate() const;
  floor_counts own_floors() const;
  std::optional<bad_cell> agree();
  void commit();

  void arrived(const message& m) override;
  void lost(int peer, const std::string& why) override;

  gas& gas_;
  hydro_parameters hydro_;
  integrator scheme_;
  worker_scratch scratch_;
  mesh::flux_register fluxes_;
  stage_messages messages_;
  mesh::side_totals left_;
  floor_counts floors_;
  std::unique_ptr<node[]> nodes_;  // by slot
  std::size_t node_count_ = 0;
  std::vector<mesh::slot_id> order_;  // local blocks in the order in which stage 0 starts them
  double dt_ = 0.0;
  double signal_rate_ = 0.0;
  std::uint32_t my_wishes_ = 0, wishes_ = 0;
  input_count unfinished_;     // local blocks that have not finished the last stage, groups of ghost cells that have
                               // not arrived
  std::atomic<int> tasks_{0};  // submitted and not ended; counted with several localities only
  round_end* end_ = nullptr;
};

}  // namespace plx::star
