// The present state of a run of plx-dca: for its progress line, and as the counters /dca{locality#N/total}/...
//
// Thread safety: all functions. Cost: counters are read on demand; walkers add their numbers once per measurement.
// Example: qmc/dca/test/dca_monitor_test.cpp
#pragma once

#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "qmc/dca/dca.hpp"

namespace plx::probe {
class counter_registry;
}

namespace plx::qmc {

/// The iteration that runs.
struct dca_progress {
  int temperature = 0, iteration = 0, iterations = 1;  // indices from 0; the number of this temperature
  double t = 0;
  double share = 0;  // of the measurements of this process's walkers, in [0, 1]
  // Means over the measurements of the iteration in this process: of the expansion order and the sign; accepted moves
  // over proposed ones. Zero before the first one, also of an iteration that a resume continues.
  double order = 0, sign = 0, acceptance = 0;
  // Estimates of the seconds that remain, of the iteration and of the run; empty before the first measurement, and the
  // second one also while this process has iterations of one temperature alone and colder ones follow.
  std::optional<double> left_s, run_left_s;
  std::optional<estimate> d_wave;  // lambda_d of the last temperature that is complete
};

/// The state of a run, from the functions of its dca_observer and the numbers of the walkers of this process. A pause
/// for a checkpoint does not change the progress of the iteration. Errors: none. Cost: a lock per iteration.
class dca_monitor {
 public:
  /// options: those of the run, for the estimates of the time that remains; now_s: their clock.
  explicit dca_monitor(dca_options options, double (*now_s)() noexcept = monotonic_seconds);
  ~dca_monitor();
  /// Adds the counters, which are removed with this object: those of the walkers, and, on the root, of the run.
  void add_counters(probe::counter_registry& registry, bool is_root);
  /// For dca_observer::progress().
  std::shared_ptr<monte_carlo_progress> walkers() const;

  // Called by the functions of a dca_observer with the same names.
  void began(const dca_iteration& now, int iterations);
  void iterated(const dca_iteration& now);
  void cooled(const dca_temperature& result);

  /// Empty before the first iteration, and between an iteration and the next one.
  std::optional<dca_progress> now() const;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace plx::qmc
