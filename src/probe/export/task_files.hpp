// All files about tasks that the settings of a run ask for, made of one copy of the trace.
//
// Thread safety: everything, on different folders. Cost: of the files. Errors: a file that cannot be written is a line
// in the log; the others are still written. Example: probe/export/task_files_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "probe/recorder.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

struct job_trace_data;  // probe/trace_job.hpp

/// Whether the settings want tasks one by one.
bool wants_trace(const settings& s) noexcept;

/// Writes into the folder s.output, which is there, and prints what is to be seen on the screen; at the end
/// measurement.json, which says what was recorded, what was lost, what measuring cost, and which files there are. Gives
/// the first error. With `whole` the trace is that one, of a whole job.
result<void> write_task_files(recorder& r, const settings& s, const job_trace_data* whole = nullptr);

}  // namespace plx::probe
