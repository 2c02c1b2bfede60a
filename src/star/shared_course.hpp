// A run whose blocks are divided along the curve between devices, and between these and the CPU's workers: each part
// advances its own blocks, and stage by stage they exchange ghosts, and fluxes between levels, packed, through pinned
// memory.
//
// Every number is that of the CPU's stepper, to the bit, whoever has which block. The mesh changes on the host: values
// come there for that, and go to where they belong after it; that is also when blocks are divided anew.
//
// Thread safety: one task at a time. Errors: gpu::error, thrown; the values on devices are lost then. Cost: per stage
// two waits for all parts, where there is more than one, and what lies at their borders twice over the bus; per look at
// the mesh all values. Memory: each device has room for all blocks. Example: star/shared_course_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/curve_parts.hpp"
#include "num/exact_sum.hpp"
#include "star/bad_cell.hpp"
#include "star/gas.hpp"
#include "star/options.hpp"

namespace plx {
class runtime;
}
namespace plx::gpu {
struct backend;
}

namespace plx::star {

/// Who has advanced how many blocks, for the summary of a run.
struct work_shares {
  std::vector<std::int64_t> device_blocks;  ///< times steps, by device
  std::int64_t worker_blocks = 0;
};

class shared_course {
 public:
  /// On run.devices devices of run.device (or of `on`), with the share run.device_share. Requires: all outlive it.
  /// Errors: one line: no such backend in this program, no such device, no driver, several localities.
  static result<std::unique_ptr<shared_course>> open(const input& in, const setup& s, gas& g, worker_scratch& scratch,
                                                     runtime& rt, const gpu::backend* on = nullptr);
  ~shared_course();

  /// Takes the mesh and the values of the gas: divides the blocks.
  void take();
  /// One step; or the first bad cell, and all is as it was.
  std::optional<bad_cell> advance(double dt);
  double signal_rate() const { return signal_rate_; }        ///< of the whole gas, after a step
  const floor_counts& floors() const { return floors_; }     ///< of the last step
  std::span<const exact_sum> left() const { return left_; }  ///< in the last step, by face and variable
  std::vector<double> totals();
  /// Brings the values to the gas on the host, where they are not there.
  void fetch();
  const work_shares& shares() const { return shares_; }

 private:
  struct device_part;
  struct parts_of;
  shared_course(const input& in, const setup& s, gas& g, worker_scratch& scratch, runtime& rt);

  void divide();
  void run_stage(int stage, double dt);
  void exchange_fluxes();
  void exchange_ghosts(int stage);
  void wait_for_devices();
  std::optional<bad_cell> end_step();
  void measure();
  bool has_fluxes() const;
  bool has_ghosts() const;

  const input& in_;
  const setup& setup_;
  gas& gas_;
  std::unique_ptr<parts_of> all_;
  mesh::curve_parts parts_{0};
  std::vector<exact_sum> left_;
  floor_counts floors_;
  work_shares shares_;
  double signal_rate_ = 0.0;
  std::int64_t steps_ = 0;
  bool values_here_ = true;
};

}  // namespace plx::star
