// Steps of a device_gas block by block: a launch per block and kernel instead of one for all blocks, in tasks or by
// futures, with executors or without. The bits are those of device_gas::step(), which is what a run uses: a block alone
// does not fill a device, and this is how what a runtime gives can be told apart (docs/gpu.md, the ladder).
//
// Thread safety: one task at a time; it waits. Requires: the scheme full3d, no totals of steps. Errors: gpu::error,
// thrown; the values are lost then. Cost: two launches and two futures per block and stage. Memory: 290 KB per block of
// 8^3 cells while a step runs. Example: star/device/block_steps_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/aggregating_executor.hpp"
#include "gpu/executor.hpp"
#include "star/device/block_data.hpp"
#include "star/device/device_gas.hpp"

namespace plx::star::device {

class block_steps {
 public:
  /// Requires: `gas` has adopted this mesh, and adopts no other as long as this lives.
  block_steps(device_gas& gas, const mesh::block_mesh& mesh);

  /// As device_gas::step(), which may take turns with them; each waits for the device.
  ///
  /// A task per block and stage takes a stream and two buffers, puts both kernels there and waits. A stage begins when
  /// all tasks of the one before have ended.
  void step_in_streams();
  /// The same with buffers of a common stream; the kernels go by `on`.
  void step_in_tasks(const gpu::executor& on);
  void step_in_tasks(const gpu::aggregating_executor& on);
  /// Nobody waits before the step ends: a kernel is launched when those are done whose values it reads. Where the mesh
  /// has several levels, a stage begins when the one before has ended.
  void step_by_futures(const gpu::executor& on);
  void step_by_futures(const gpu::aggregating_executor& on);

 private:
  template <class On>
  class course;
  struct scratch;
  template <class On>
  void tasks_by(const On& on);
  template <class On>
  void futures_by(const On& on);
  template <class Advance>
  void step(Advance&& advance);
  void prepare();
  gather_item gather_of(int stage, std::int32_t position, double* tile) const;
  advance_item advance_of(int stage, std::int32_t position, double* tile, double* parts) const;
  void end_stage(int stage);
  void end_step();
  double* fluxes(int stage) { return fluxes_.data() + stage * flux_doubles_; }

  device_gas& gas_;
  gpu::stream home_;
  std::ptrdiff_t flux_doubles_ = 0;
  std::size_t tile_doubles_ = 0, part_doubles_ = 0;
  std::int32_t boxes_ = 0;
  bool one_level_ = true;
  std::vector<std::vector<std::int32_t>> readers_;  // of a block's values: positions
  std::vector<std::int32_t> read_;                  // how many blocks a block reads
  device_memory<double> fluxes_;                    // of each stage, so that the sums over sides come at the end
  // Of each stage, by which arena is `now`; empty: not made yet.
  device_memory<tiles_arguments> tiles_[3];
  device_memory<stage_arguments> stages_[3];
};

}  // namespace plx::star::device
