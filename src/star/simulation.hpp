// The physics of a run: the gas, its time, and how both go on. It writes no files (star/run.hpp does).
//
// The natural way through:
//   simulation sim(in, setup, rt);
//   sim.start();                      // or sim.restore(state, leaves, ...)
//   while (!sim.finished()) sim.step();
//
// Thread safety: one thread that is no worker of the runtime; each call runs tasks and waits for them.
// Results are bitwise the same for any number of workers, and after a restore. Cost: star/stepper.hpp.
// Example: tests/validation/reproducibility_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/checkpoint.hpp"
#include "star/block_costs.hpp"
#include "star/gas.hpp"
#include "star/options.hpp"
#include "star/stepper.hpp"

namespace plx {
class runtime;
}

namespace plx::star {

class simulation {
 public:
  /// Requires: all three outlive the simulation; s = in.prepare().
  simulation(const input& in, const setup& s, runtime& rt);

  /// The initial state on its mesh.
  void start();
  /// The state of a checkpoint, read from `path`.
  result<void> restore(const mesh::checkpoint& c, const std::string& path);

  /// One time step, and a new mesh where it is time for one. On failure the gas is as it was before the step; one line
  /// says which block, cell and time.
  result<void> step();
  bool finished() const;

  /// The lists of numbers that continue the run, for a checkpoint.
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
  std::vector<double> totals() const;
  unsigned worker_of(mesh::slot_id slot) const { return stepper_.worker_of(slot); }
  block_costs& costs() { return costs_; }

 private:
  double next_dt() const;
  void adapt_mesh();
  std::string describe(const bad_cell& bad, double dt) const;

  const input& in_;
  const setup& setup_;
  runtime& rt_;
  gas gas_;
  stepper stepper_;
  block_costs costs_;
  double time_ = 0.0, dt_ = 0.0;
  std::int64_t steps_ = 0, cell_updates_ = 0;
};

}  // namespace plx::star
