// The integrator for several localities with one device each: every device advances its locality's part of the curve.
// Stage by stage the devices exchange ghost cells, fluxes between levels, and values of nodes in fields of additional
// physics, packed by a kernel, through pinned memory and messages.
//
// Every number equals that of the CPU's stepper to the last bit, whatever the partition. Devices evaluate the
// refinement criteria; only if the mesh or the partition changes do the values come to the host, which makes the new
// blocks and moves blocks between localities as without devices.
//
// Thread safety: one task at a time; functions marked *collective* by a task on each locality, in the same order.
// Errors: when a device of any locality fails, gpu::error, thrown on all of them; the values on devices are then lost.
// locality_lost, thrown. Cost: per stage at most two waits for the device and for the messages of the neighbours, and
// two transfers of the data at the borders over the bus; as many more for each field of additional physics and stencil,
// and for passes up or down the tree per level. Memory: a device holds the blocks of its locality and those
// that touch them. Example: star/runners/test/distributed_device_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/regrid.hpp"
#include "num/exact_sum.hpp"
#include "star/driver/options.hpp"
#include "star/state/gas.hpp"

namespace plx {
class runtime;
}
namespace plx::gpu {
struct backend;
}

namespace plx::star {

class gravity_field;

class distributed_device {
 public:
  /// Opens the device of run.device that is this locality's (device_course.hpp), or one of `on` if it is not null.
  /// Requires: several localities; all arguments outlive it. Collective. Errors: one line, on this locality only: this
  /// program lacks the backend, no device, no driver.
  static result<std::unique_ptr<distributed_device>> open(const input& in, const setup& s, gas& g, runtime& rt,
                                                          const gpu::backend* on = nullptr);
  ~distributed_device();

  /// Copies the mesh and the values of the gas to the devices. Collective.
  void take();
  /// Makes one step; or returns the first bad cell, with the state unchanged. All, with the same dt.
  std::optional<bad_cell> advance(double dt, double time);
  double signal_rate() const { return signal_rate_; }              ///< of the whole gas, after a step
  const floor_counts& floors() const { return floors_; }           ///< of the last step
  std::span<const exact_sum> outflow() const { return outflow_; }  ///< in the last step, by face and variable
  std::span<const exact_sum> added() const { return added_; }      ///< by floors in the last step: floor_amounts
  std::vector<double> totals();                                    ///< of the whole gas. Collective.
  /// The sums of modules (step_module::sums()) over local blocks, after the last step.
  const std::vector<exact_sum>& sums() const { return sums_; }
  /// The refinement flags of all blocks, by slot. Collective.
  std::vector<mesh::flag> refinement_flags(double weakening, const gravity_field* gravity);
  /// The field of gravity of the present state, of local blocks. Collective. Requires: self-gravity.
  void gravity(gravity_field& to);
  /// Copies the values to the host, if they are not there. Collective.
  void fetch();
  /// As in stepper: bits that reach all localities at the end of the next step.
  void wish(std::uint32_t bits) { my_wishes_ |= bits; }
  std::uint32_t wishes() const { return wishes_; }
  /// Time in seconds that this locality's device has worked since the last call.
  double take_busy_s();

 private:
  struct parts;
  distributed_device(const input& in, const setup& s, gas& g, std::unique_ptr<parts> on);

  /// Calls f() in a round of messages, and notifies the other localities if a device fails in it; returns why.
  template <class F>
  std::string in_round(F&& f);
  bool run_step(double dt, double time);
  void collect(step_account& mine, std::vector<double>& rates);
  void note_bad(std::uint64_t first, std::uint64_t key, step_account& mine);
  std::optional<bad_cell> end_step(step_account& mine, const std::string& why, const std::vector<double>& rates);
  void fetch_local();
  template <class F>
  void all_or_none(F&& f);

  const input& in_;
  const setup& setup_;
  gas& gas_;
  std::unique_ptr<parts> on_;
  std::vector<exact_sum> outflow_, added_, sums_;
  floor_counts floors_;
  double signal_rate_ = 0.0;
  std::int64_t steps_ = 0;
  std::uint32_t my_wishes_ = 0, wishes_ = 0;
  bool values_here_ = true;
  bool has_field_ = false;  // of gravity, on the devices, for the present state
};

}  // namespace plx::star
