// Writes the profiles that the settings of a run request, and measurement.json.
//
// Thread safety: all functions, on different folders. Cost: that of the files. Errors: a file that cannot be written
// gives a line in the log; the others are still written. Example: trace/test/task_files_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

/// Writes into the existing folder s.output and prints requested tables; last it writes measurement.json, which lists
/// what was recorded and dropped, the cost of measurement, and the files. Returns the first error. `trace_error`: why
/// the trace file ends early, "" if it does not; `unwritten`: records that are therefore not in it.
result<void> write_task_files(recorder& r, const settings& s, const std::string& trace_error = "",
                              std::uint64_t unwritten = 0);

}  // namespace plx::probe
