// The physics of a run: the gas, its time, and how both advance. It writes no files (star/driver/run.hpp does).
//
// Typical use:
//   simulation sim(in, setup, rt);
//   sim.start();                      // or sim.restore(checkpoint, path), sim.go_on()
//   while (!sim.finished()) sim.step();
//
// With several localities each has its own simulation, made of the same input. The functions marked
// *collective* are called on every locality, in the same order; then each locality knows the time, the mesh and the
// totals of the whole, and the values of its own blocks.
//
// Thread safety: one task of the runtime, or one thread that is not a worker: each call runs tasks and waits for them.
// Results are bitwise the same for any number of workers and of localities, and after a restore. Cost:
// star/runners/stepper.hpp. Example: tests/validation/reproducibility_test.cpp, star/test/localities_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "num/running_sum.hpp"
#include "star/device/data/step_data.hpp"
#include "star/driver/options.hpp"
#include "star/runners/stepper.hpp"
#include "star/state/gas.hpp"

namespace plx {
class runtime;
}
namespace plx::gpu {
struct backend;
}
namespace plx::mesh {
struct checkpoint;
}

namespace plx::star {

class balancer;
class block_costs;
class gravity_field;
class tracers;

/// Counts of regrid checks since the start of the program. A check makes a plan of the whole mesh only if the mesh or
/// the partition changes.
struct regrid_checks {
  std::int64_t made = 0;
  std::int64_t plans = 0;
  std::int64_t marks_read = 0;  ///< evaluations of the criteria on one device whose result was not that of the last one
};

class simulation {
 public:
  /// Requires: all arguments outlive the simulation; s = in.prepare().
  simulation(const input& in, const setup& s, runtime& rt, step::exchange& net = step::exchange::alone());

  ~simulation();

  /// Opens the device that run.device names, or the first of `on`, before start() or restore(). Collective. Errors: one
  /// line, on this locality only: there is no such device.
  result<void> take_device(const gpu::backend* on = nullptr);
  bool on_device() const;
  /// Has the device made steps that step() has not reported? Then time and totals belong to the reported step, but the
  /// values to a later one: no mesh file, checkpoint or end is possible. False at run.max_steps, at the times of mesh
  /// files and at regrid checks.
  bool is_ahead() const;
  /// Copies the values to the host, for readers of state().now. Collective. Requires: not ahead.
  void fetch();

  /// Builds the initial state on its mesh, and places tracers. Collective. Errors: locality_lost, and
  /// std::invalid_argument of a problem that fails (problem::build()) or of a star without cells for tracers; both
  /// thrown.
  void start();
  /// Restores the state of a checkpoint, read from `path`; then, when all localities have done so, call go_on().
  /// Errors: one line, on this locality only.
  result<void> restore(const mesh::checkpoint& c, const std::string& path);
  /// Copies a restored state to the devices, if there are any, and places tracers if the checkpoint has none.
  /// Collective. Errors: gpu::error, thrown.
  void go_on();

  /// Makes one time step, and a regrid if one is due. Collective. A step that fails is tried again with half its
  /// length, up to run.retries times and not below run.dt_min. On failure the gas is as it was before the step; the
  /// error names the block, the cell and the time. Errors: locality_lost, thrown; then only the mesh and the last good
  /// state of local blocks are valid.
  result<void> step();
  bool finished() const;
  double t_end() const { return in_.run.t_end * setup_.time_unit; }  ///< code time
  /// A code time in run.time_unit, with its name, for messages: "0.5 orbits", "0.5 code units".
  std::string with_unit(double time) const;

  /// Requests, as bits, that all localities know after the next step, such as "stop": see wishes().
  void wish(std::uint32_t bits);
  /// The requests that any locality made before the last step.
  std::uint32_t wishes() const;

  /// The lists of numbers that a checkpoint needs to continue the run. Collective.
  std::vector<std::pair<std::string, std::vector<double>>> numbers() const;

  const gas& state() const { return gas_; }
  const input& options() const { return in_; }
  const setup& settings() const { return setup_; }
  runtime& tasks() const { return rt_; }
  double time() const { return time_; }
  double dt() const { return dt_; }  ///< of the last step
  std::int64_t steps() const { return steps_; }
  std::int64_t cell_updates() const { return cell_updates_; }
  const floor_counts& floors() const { return stepper_.floors(); }
  const floor_amounts& added() const { return stepper_.added(); }
  double left(int variable) const {
    return stepper_.left().total(variable);
  }  ///< cumulative outflow through all
     ///< boundaries
  /// Totals of the conserved variables over the whole domain, followed by the sums of modules (step_module::sums())
  /// after the last step: NaN before the first step, and on a device between the steps that it makes together; those
  /// that accumulate are always known. Collective.
  /// Errors: locality_lost, thrown.
  std::vector<double> totals() const;
  /// Potential and acceleration of the state at the present time, of local blocks. Collective. Requires: not ahead;
  /// gravity.self. Errors: locality_lost, gpu::error, thrown.
  const gravity_field& gravity();
  /// The worker that last advanced a local block; 0 on a device.
  unsigned worker_of(mesh::slot_id slot) const;
  void collect_costs();  ///< adds to costs() the cost since the last call
  block_costs& costs();  ///< of local blocks
  const balancer& balance() const;
  regrid_checks checks() const;
  const tracers& points() const;
  worker_scratch& scratch() { return stepper_.scratch(); }

 private:
  device::step_rule rule() const;
  device::step_state now() const { return {time_, dt_, signal_rate_, steps_}; }
  result<double> next_dt() const;
  template <class F>
  result<double> advance_with_retries(double dt, F&& advance);
  void adapt_mesh();
  std::optional<bad_cell> advance_all(double dt);
  void begin_step_of_tracers();
  void end_step_of_tracers();
  result<void> advance_device();
  void adapt_on_device();
  std::vector<mesh::flag> flags_of_criteria();
  const gravity_field& solve_gravity();
  void warn_of_limit();
  void stepped();
  void count_check(bool changed);
  void take_sums(const std::vector<exact_sum>& local);
  std::vector<double> totals_of_gas() const;
  std::vector<double> sums_of_modules() const;
  bool has_accumulating_sums() const;
  int steps_to_look() const;
  void agree(const floor_counts& own_floors, std::vector<exact_sum> own_added);
  std::string describe(const bad_cell& bad, double dt) const;

  const input& in_;
  const setup& setup_;
  runtime& rt_;
  gas gas_;
  stepper stepper_;
  struct parts;  // of types that this header only declares
  std::unique_ptr<parts> parts_;
  bool place_tracers_ = false;  // the checkpoint has none
  bool warned_of_limit_ = false;
  std::vector<double> totals_;   // of the last step, if the device has returned them
  std::vector<exact_sum> sums_;  // of modules over local blocks, after the step sums_step_
  std::int64_t sums_step_ = -1;
  std::vector<bool> accumulates_;         // by sum: step_module::sums_accumulate()
  std::vector<running_sum> accumulated_;  // by sum, of all localities since the start
  std::int64_t checked_at_ = 0;           // step of the last regrid check
  regrid_checks checks_;                  // without marks_read
  double signal_rate_ = 0.0;              // of the whole gas
  double time_ = 0.0, dt_ = 0.0;
  std::int64_t steps_ = 0, cell_updates_ = 0;
};

}  // namespace plx::star
