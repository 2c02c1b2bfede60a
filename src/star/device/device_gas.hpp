// The gas of a run on a device: all blocks of the mesh live there from start to end, and steps run there without the
// host, which knows the tree and reads values for files only.
//
// The numbers are those of the CPU's stepper, to the bit.
//
// Thread safety: one thread at a time. Errors: those of the machine, thrown. Cost: a step is one launch per stage and
// one at its end, as one graph; a new mesh uploads 200 bytes per block.
// Example: star/device/device_gas_test.cpp
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mesh/arena.hpp"
#include "mesh/block_mesh.hpp"
#include "mesh/side_totals.hpp"
#include "star/device/device_memory.hpp"
#include "star/device/machine.hpp"
#include "star/device/step_data.hpp"
#include "star/hydro/options.hpp"

namespace plx::star::device {

/// What the steps need to know besides the mesh.
struct gas_options {
  hydro_parameters hydro;
  integrator scheme;
  double cfl = 0.4;
  mesh::boundary_values sides;
};

class device_gas {
 public:
  /// Requires: `on` outlives the gas; no species.
  device_gas(machine& on, const gas_options& options);

  /// Takes a mesh, and room for its blocks: what they hold is anything. Waits for the device.
  void adopt(const mesh::block_mesh& mesh);
  /// Values of all blocks. Requires: an arena of the mesh, with a row for each slot. Both wait for the device.
  void upload(const mesh::arena& values);
  void download(mesh::arena& values);

  /// Begins at this state of the course. Requires: control.dt > 0.
  void begin(const step_control& control);
  /// Puts one step into the stream, which does nothing once the course has stopped. Does not wait.
  void step();
  /// Waits for all steps, and tells how far they came.
  step_control wait();
  /// Seconds that each part of a step takes, mean of `repeats` in a row. The state is of no use afterwards.
  std::vector<std::pair<const char*, double>> time_parts(int repeats);
  /// Of the last step, by slot: largest (|v| + c) / dx.
  std::vector<double> signal_rates();
  /// What has left through the sides, of all steps that were waited for.
  const mesh::side_totals& left() const { return left_; }
  mesh::side_totals& left() { return left_; }

 private:
  const double* source(int stage) const { return arenas_[stage == 0 ? now_ : stage == 1 ? a_ : b_].data(); }
  double* target(int stage) { return arenas_[stage == 1 ? b_ : a_].data(); }
  void put_ghosts(const double* from);
  void put_stage(int stage);
  void put_side_sums(int stage);
  void put_correction(int stage);
  void put_finish();
  void put_step();
  void add_what_left(std::int64_t begin, std::int64_t end);
  void swap_after_step();

  static constexpr int steps_kept = 16;  // whose parts of what left wait on the device

  machine& on_;
  gas_options options_;
  int n_ = 0, n_var_ = 0, n_blocks_ = 0, n_levels_ = 0, n_corrections_ = 0;
  bool central_ = false;
  std::int32_t side_[mesh::face_count] = {};
  std::vector<std::uint8_t> side_face_;
  mesh::side_totals left_;
  std::size_t slots_ = 0, stride_ = 0;
  device_memory<double> arenas_[3];
  int now_ = 0, a_ = 1, b_ = 2;
  device_memory<double> inflow_, fluxes_, slabs_, coarse_tiles_, rates_, left_parts_;
  device_memory<block_item> blocks_;
  device_memory<level_item> levels_;
  device_memory<coarse_fill> fills_;
  device_memory<correction_item> corrections_;
  device_memory<side_item> sides_;
  device_memory<block_report> reports_;
  device_memory<step_control> control_;
  std::int64_t put_ = 0;  // steps in the stream since the last wait
  std::int64_t steps_at_wait_ = 0;
  gpu::graph graph_[3];  // of a step, by which arena is `now`
};

}  // namespace plx::star::device
