// The machine and the process of a run, for run.json.
//
// Thread safety: any thread. Cost: reading some files of /proc. Example: apps/plx_dca.cpp
#pragma once

#include <cstdint>
#include <string>

namespace plx {

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

/// As JSON objects.
std::string json_of(const machine_facts& m);
std::string json_of(const process_facts& p);

}  // namespace plx
