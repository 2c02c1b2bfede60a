// The physics of a run: the gas, its time, and how both go on. It writes no files (star/run.hpp does).
//
// The natural way through:
//   simulation sim(in, setup, rt);
//   sim.start();                      // or sim.restore(checkpoint, path), sim.go_on()
//   while (!sim.finished()) sim.step();
//
// On many localities each has a simulation of its own, all made of the same input, and what is marked *all* is called
// by all of them, in the same order; then every locality knows the time, the mesh and the totals of the whole, and the
// values of its own blocks.
//
// Thread safety: one task of the runtime, or one thread that is no worker: each call runs tasks and waits for them.
// Results are bitwise the same for any number of workers and of localities, and after a restore. Cost:
// star/stepper.hpp. Example: tests/validation/reproducibility_test.cpp, star/localities_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "star/balancer.hpp"
#include "star/block_costs.hpp"
#include "star/gas.hpp"
#include "star/options.hpp"
#include "star/stepper.hpp"

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

class device_course;
class shared_course;
struct work_shares;

class simulation {
 public:
  /// Requires: all of them outlive the simulation; s = in.prepare().
  simulation(const input& in, const setup& s, runtime& rt, exchange& net = exchange::alone());

  ~simulation();

  /// Takes the device that run.device names, or the first of this backend, before start() or restore(). All. Errors:
  /// one line, here alone: there is none.
  result<void> take_device(const gpu::backend* on = nullptr);
  bool on_device() const { return device_ != nullptr || shared_ != nullptr; }
  /// Who advances which part of this locality's blocks; null where they are not divided.
  const work_shares* shares() const;
  /// Has the device made steps that step() has not told of? Then time and totals are of that step, but values of a
  /// later one: no mesh file, checkpoint or end. Where run.max_steps, a mesh file's time or a look at the mesh are, it
  /// is not.
  bool is_ahead() const;
  /// Brings the values to the host, for who reads state().now. All. Requires: not ahead.
  void fetch();

  /// The initial state on its mesh. All. Errors: locality_lost, thrown.
  void start();
  /// The state of a checkpoint, read from `path`; go_on() comes next, when all have theirs. Errors: one line, here
  /// alone.
  result<void> restore(const mesh::checkpoint& c, const std::string& path);
  /// Hands a restored state to the devices, where it is on some. All. Errors: gpu::error, thrown.
  void go_on();

  /// One time step, and a new mesh where it is time for one. All. On failure the gas is as it was before the step; one
  /// line says which block, cell and time. Errors: locality_lost, thrown; then nothing but the mesh and the last good
  /// state of own blocks is of use.
  result<void> step();
  bool finished() const;

  /// Bits that all localities know of after the next step, such as "stop": see wishes().
  void wish(std::uint32_t bits);
  /// What any locality has wished before the last step.
  std::uint32_t wishes() const;

  /// The lists of numbers that continue the run, for a checkpoint. All.
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
  double left(int variable) const { return stepper_.left().total(variable); }  ///< through all sides, since the start
  /// Of the conserved variables over the whole domain. All. Errors: locality_lost, thrown.
  std::vector<double> totals() const;
  /// Of an own block; 0 on a device.
  unsigned worker_of(mesh::slot_id slot) const { return device_ != nullptr ? 0 : stepper_.worker_of(slot); }
  void collect_costs();                    ///< adds to costs() what has come since the last time
  block_costs& costs() { return costs_; }  ///< of own blocks
  const balancer& balance() const { return balance_; }

 private:
  double next_dt() const;
  void adapt_mesh();
  std::optional<bad_cell> advance_all(double dt);
  result<void> check_dt(double dt) const;
  result<void> advance_device();
  void adapt_on_device();
  void stepped();
  int steps_to_look() const;
  void agree(const floor_counts& own_floors);
  std::string describe(const bad_cell& bad, double dt) const;

  const input& in_;
  const setup& setup_;
  runtime& rt_;
  gas gas_;
  stepper stepper_;
  block_costs costs_;
  balancer balance_;
  std::unique_ptr<device_course> device_;
  std::unique_ptr<shared_course> shared_;
  std::vector<double> totals_;   // of the last step, where the device has told them
  std::int64_t checked_at_ = 0;  // step of the last look at the mesh
  double signal_rate_ = 0.0;     // of the whole gas
  double time_ = 0.0, dt_ = 0.0;
  std::int64_t steps_ = 0, cell_updates_ = 0;
};

}  // namespace plx::star
