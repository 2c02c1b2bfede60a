// Writes the profiles that the settings of a run request, and measurement.json.
//
// Thread safety: all functions, on different folders. Cost: that of the files. Errors: a file that cannot be written
// gives a line in the log; the others are still written. Example: trace/test/task_files_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

class sampler;
struct counts_of_tasks;  // probe/monitor/task_counts.hpp
struct energy_of_tasks;  // probe/monitor/task_energy.hpp
struct machine_limits;   // probe/monitor/machine_limits.hpp
struct trace_totals;     // probe/record/trace_sink.hpp

/// Further input of write_task_files().
struct more_task_files {
  std::string trace_error{};    // why the trace file ends early
  std::uint64_t unwritten = 0;  // records that are therefore not in it
  /// Those of a trace that began while the program ran; otherwise all records of the run count.
  const trace_totals* totals = nullptr;
  const sampler* stacks = nullptr;          // with the sampled stacks
  const energy_of_tasks* energy = nullptr;  // if the machine measures it
  const counts_of_tasks* counts = nullptr;  // if requested, as the next
  const machine_limits* limits = nullptr;
  bool lines = true;  // false: stacks.csv without source lines, whose search takes long
  /// Writes further files, after the tables and before the sampled stacks; it reports its errors itself.
  std::function<void()> more_tables{};
};

/// Writes into the existing folder s.output and prints requested tables; last it writes measurement.json, which lists
/// what was recorded and dropped, the cost of measurement, and the files. Returns the first error.
result<void> write_task_files(recorder& r, const settings& s, const more_task_files& more = {});

}  // namespace plx::probe
