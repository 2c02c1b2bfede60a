// The data of the scheduler for measurement: its counters, the cost of a task besides its work, and, for the flight
// recorder, the tasks that its workers run.
//
// Thread safety: everything. Cost: task_cost_s() takes about 3 ms, in a runtime of its own with one worker.
// Example: diagnose_settings_test.cpp, tests/flight/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probe/counters/counter_registry.hpp"
#include "probe/crash/flight_dump.hpp"

namespace plx::probe {
class sampler;
struct settings;
}  // namespace plx::probe

namespace plx::detail {

// The scheduler's own counters. docs/runtime.md has the table.

class scheduler;

/// /threads{locality#0/worker-thread#N}/count/..., the same for {locality#0/total}, and
/// /scheduler{locality#0/total}/... The scheduler must outlive the registrations.
[[nodiscard]] std::vector<probe::registration> add_scheduler_counters(probe::counter_registry& registry, scheduler& s);

/// Seconds to create, measure, run and end a named empty task: the minimum of several rounds, on a single worker. Must
/// not be called by a task.
double task_cost_s();

/// /scheduler{locality#0/total}/task-cost, measured on first use.
[[nodiscard]] probe::registration add_task_cost_counter(probe::counter_registry& registry);

/// The system's ids of the workers' threads, once they have started; 0 if that takes more than 0.1 s. Empty in the
/// deterministic mode.
std::vector<int> started_threads(const scheduler& workers);

/// Samples the stacks of the threads of the workers and, with `caller`, of the calling thread. One line on stderr if a
/// thread cannot be sampled.
void sample_stacks(probe::sampler& stacks, const scheduler& workers, bool caller = true);

/// Offers the flight recorder the state of the workers, and sets when a file is written. One object per runtime,
/// created after its scheduler. Cost: nothing until a file is written.
class flight_watch {
 public:
  /// Does nothing if `s.flight` is 0. Throws std::invalid_argument for an invalid signal.
  flight_watch(const scheduler& workers, const probe::recorder& r, const probe::settings& s);

 private:
  std::string folder_;
  std::optional<probe::flight_registration> registration_;
  std::optional<probe::flight_signals> signals_;
};

}  // namespace plx::detail
