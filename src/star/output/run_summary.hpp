// run.json: the configuration, size and end of a run, as one JSON object.
//
// Thread safety: values. Cost: some KB of text. Example: tests/cli/test_plx_star.py
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/run_json.hpp"
#include "star/driver/run.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

struct run_summary {
  std::string problem, status = "running", message, started = utc_now();
  machine_facts machine = this_machine();
  process_facts process = this_process();  ///< the root's
  unsigned workers = 0;                    ///< of this locality
  int localities = 1;
  double wall_s = 0.0, simulation_s = 0.0, time = 0.0, measurement_cost_percent = 0.0;
  std::int64_t steps = 0, cells = 0, blocks = 0, cell_updates = 0, resumed_at_step = -1;
  units code_units;
  std::string conservation;             ///< ledger::json()
  std::vector<named_value> references;  ///< known numbers of the exact solution at this time

  std::string json(const run_request& request) const;
};

}  // namespace plx::star
