// One time step of the whole mesh as tasks: each Runge-Kutta stage of each block is one, and starts as soon as the
// block and those that touch it have finished the stage before. There is no barrier between stages.
//
// A block's stage is finished when its values are final: where a neighbour across a face is finer, after the flux
// correction, which waits for the fluxes of the finer blocks. The last block to finish the last stage ends the step.
// Results do not depend on the schedule: every task writes only its own block, and what it reads is final.
//
// The state at the start of the step is never written: the third stage goes to the memory of the first, whose readers
// are all done by then. So a step that fails leaves the last good state.
// Invariants: docs/plx-star.md.
//
// Thread safety: one step at a time, from a task. Cost: about 0.2 us per task beside the kernels.
// Example: star/stepper_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "mesh/flux_register.hpp"
#include "mesh/side_totals.hpp"
#include "rt/latch.hpp"
#include "star/gas.hpp"

namespace plx::star {

/// A cell that floors could not mend.
struct bad_cell {
  mesh::slot_id slot = mesh::no_slot;
  int stage = 0;
  int cell = -1;  ///< (k * n + j) * n + i
};

class stepper {
 public:
  /// Requires: `g` outlives the stepper; workers: those of the runtime whose tasks call advance().
  stepper(gas& g, const setup& s, unsigned workers);
  ~stepper();

  /// After the gas has taken another mesh.
  void adopt_mesh();

  /// Advances the gas by dt, or reports the first bad cell (in the order of stages, then of the curve) and leaves the
  /// gas as it was. Requires: called by a task.
  std::optional<bad_cell> advance(double dt);

  const floor_counts& floors() const { return floors_; }  ///< of all steps so far
  floor_counts& floors() { return floors_; }
  const mesh::side_totals& left() const { return left_; }  ///< what has left through the sides
  mesh::side_totals& left() { return left_; }
  /// Worker that last advanced a block. Requires: a live slot.
  unsigned worker_of(mesh::slot_id slot) const;
  worker_scratch& scratch() { return scratch_; }

 private:
  struct alignas(64) node;

  mesh::arena& source(int stage) { return stage == 0 ? gas_.now : stage == 1 ? gas_.stage_a : gas_.stage_b; }
  mesh::arena& target(int stage) { return stage == 1 ? gas_.stage_b : gas_.stage_a; }
  void post_stage(mesh::slot_id slot, int stage);
  void run_stage(mesh::slot_id slot, int stage);
  void keep_fluxes(mesh::slot_id slot, int stage, const stage_output& out, std::uint32_t to_register,
                   std::uint32_t to_sides);
  void fluxes_arrived(mesh::slot_id slot, int stage);
  void correct(mesh::slot_id slot, int stage);
  void finish(mesh::slot_id slot, int stage);
  void note(mesh::slot_id slot, int stage, const stage_output& out);
  std::optional<bad_cell> first_bad() const;
  void commit();

  gas& gas_;
  hydro_parameters hydro_;
  integrator scheme_;
  worker_scratch scratch_;
  mesh::flux_register fluxes_;
  mesh::side_totals left_;
  floor_counts floors_;
  std::unique_ptr<node[]> nodes_;  // by slot
  std::size_t node_count_ = 0;
  double dt_ = 0.0;
  std::atomic<std::int64_t> unfinished_{0};
  latch* step_done_ = nullptr;
};

}  // namespace plx::star
