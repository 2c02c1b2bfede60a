// The integrator for blocks that are divided along the curve: first between localities (star/gas.hpp), then each
// locality's between its devices and its CPU's workers. Each part advances its own blocks; stage by stage the parts
// exchange ghost cells, and fluxes between levels, packed, through pinned memory, and between localities in messages.
//
// Every number equals that of the CPU's stepper to the last bit, whatever the division. The mesh changes on the host:
// for that the values come to the host and return to their parts afterwards; this is also when blocks are divided
// again.
//
// Thread safety: one task at a time; functions marked *all* by a task on each locality, in the same order. Errors: when
// a device of any locality fails, gpu::error, thrown on all of them; the values on devices are then lost.
// locality_lost, thrown. Cost: per stage two waits for all parts that have blocks, if there are several, and two
// transfers of the data at their borders over the bus; per regrid check a transfer of all values. Memory: each device
// holds its blocks and those that touch them. Example: star/shared_course_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
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

enum class far_message : std::uint16_t;
struct shared_parts;
struct step_account;

/// Number of block updates by each part, for the summary of a run.
struct work_shares {
  std::vector<std::int64_t> device_blocks;  ///< block updates, by device
  std::int64_t worker_blocks = 0;
};

class shared_course {
 public:
  /// On run.devices devices of run.device (or of `on`), with the share run.device_share. Requires: all arguments
  /// outlive it.
  /// All. Errors: one line, on this locality only: this program lacks the backend, no such device, no driver.
  static result<std::unique_ptr<shared_course>> open(const input& in, const setup& s, gas& g, worker_scratch& scratch,
                                                     runtime& rt, const gpu::backend* on = nullptr);
  ~shared_course();

  /// Copies the mesh and the values of the gas to the parts: divides the blocks. All.
  void take();
  /// Makes one step; or returns the first bad cell, with the state unchanged. All, with the same dt.
  std::optional<bad_cell> advance(double dt);
  double signal_rate() const { return signal_rate_; }        ///< of the whole gas, after a step
  const floor_counts& floors() const { return floors_; }     ///< of the last step
  std::span<const exact_sum> left() const { return left_; }  ///< outflow in the last step, by face and variable
  std::vector<double> totals();                              ///< of the whole gas. All.
  /// Copies the values to the host, if they are not there. All.
  void fetch();
  const work_shares& shares() const { return shares_; }  ///< of this locality
  /// As in stepper: bits that reach all localities at the end of the next step.
  void wish(std::uint32_t bits) { my_wishes_ |= bits; }
  std::uint32_t wishes() const { return wishes_; }
  /// Busy time in seconds of the slowest part of this locality since the last call.
  double take_busy_s() { return std::exchange(busy_s_, 0.0); }

 private:
  shared_course(const input& in, const setup& s, gas& g, worker_scratch& scratch, runtime& rt);

  void divide();
  void cut();
  void run_step(double dt, step_account& mine, std::vector<double>& rates);
  void run_stage(int stage, double dt);
  template <class Borders, class Out, class In>
  void pass_on(far_message what, int stage, const Borders& borders_of, const Out& out, const In& in);
  void exchange_fluxes(int stage);
  void exchange_ghosts(int stage);
  void wait_for_devices();
  void collect(step_account& mine, std::vector<double>& rates);
  std::optional<bad_cell> end_step(step_account& mine, const std::string& why, const std::vector<double>& rates);
  void note_bad(std::uint64_t first, std::uint64_t key, step_account& mine);
  void measure();
  void fetch_own();
  template <class F>
  void all_or_none(F&& f);
  bool has_fluxes() const;
  bool has_ghosts() const;

  const input& in_;
  const setup& setup_;
  gas& gas_;
  std::unique_ptr<shared_parts> all_;
  mesh::curve_parts parts_{0};  // in the numbering of far_messages' view
  std::vector<exact_sum> left_;
  floor_counts floors_;
  work_shares shares_;
  double signal_rate_ = 0.0;
  std::int64_t steps_ = 0;
  std::uint32_t my_wishes_ = 0, wishes_ = 0;
  double busy_s_ = 0.0;
  bool values_here_ = true;
};

}  // namespace plx::star
