// Steps of a device_gas block by block: a launch per block and kernel instead of one for all blocks, in tasks or by
// futures, with executors or without. The bits are those of device_gas::step(), which runs use. A single block does not
// fill a device, so these steps measure what the runtime contributes (docs/gpu.md, the ladder).
//
// Thread safety: one task at a time; it waits. Requires: the scheme full3d, no totals of steps. Errors: gpu::error,
// thrown; the values are then lost. Cost: two launches and two futures per block and stage. Memory: 290 KB per block of
// 8^3 cells while a step runs. Example: bench/gpu/ladder/block_steps_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "block_data.hpp"
#include "gpu/aggregating_executor.hpp"
#include "gpu/executor.hpp"
#include "star/device/device_gas.hpp"

namespace plx::star::device {

class block_steps {
 public:
  /// Requires: `gas` has adopted this mesh, and adopts no other during the lifetime of this object.
  block_steps(device_gas& gas, const mesh::block_mesh& mesh);

  /// As device_gas::step(), with which calls may alternate; each waits for the device.
  ///
  /// A task per block and stage takes a stream and two buffers, submits both kernels to it and waits. A stage begins
  /// when all tasks of the previous one have ended.
  void step_in_streams();
  /// The same with buffers of a common stream; the kernels are submitted to `on`.
  void step_in_tasks(const gpu::executor& on);
  void step_in_tasks(const gpu::aggregating_executor& on);
  /// Waits only at the end of the step: a kernel is launched when the kernels whose values it reads are complete. On a
  /// mesh with several levels, a stage begins when the previous one has ended.
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
  std::vector<std::vector<std::int32_t>> readers_;  // by position: the blocks that read a block's values
  std::vector<std::int32_t> read_;                  // number of blocks that a block reads
  device_memory<double> fluxes_;                    // of each stage, so that the outflow can be summed at the end
  // By stage and by the arena that is `now`; empty: not created.
  device_memory<tiles_arguments> tiles_[3];
  device_memory<stage_arguments> stages_[3];
};

}  // namespace plx::star::device
