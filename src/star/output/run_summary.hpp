// run.json: the configuration, size and end of a run, as one JSON object.
//
// Thread safety: values. Cost: some KB of text. Example: tests/cli/test_plx_star.py
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "star/driver/run.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

struct machine_facts {
  std::string host, cpu;
  unsigned cores = 0;  ///< available to this process
};
machine_facts this_machine();

/// Identifies the process uniquely, so that a reader of "running" in run.json can check whether it still runs.
struct process_facts {
  std::int64_t pid = 0, started_ticks = 0;  ///< process number; start in clock ticks since the boot
  std::string boot, numbers;                ///< identifier of the boot; PID namespace of `pid`
};
process_facts this_process();

/// The time of day, as 2026-01-31T12:00:00Z.
std::string utc_now();

struct run_summary {
  std::string problem, status = "running", message, started = utc_now();
  machine_facts machine = this_machine();
  process_facts process = this_process();  ///< the root's
  unsigned workers = 0;                    ///< of this locality
  int localities = 1;
  double wall_s = 0.0, simulation_s = 0.0, time = 0.0, measurement_cost_percent = 0.0;
  std::int64_t steps = 0, cells = 0, blocks = 0, cell_updates = 0, resumed_at_step = -1;
  units code_units;
  std::vector<named_value> references;  ///< known numbers of the exact solution at this time

  std::string json(const run_request& request) const;
};

}  // namespace plx::star
