// Writes the files about tasks that the settings of a run request, from one copy of the trace.
//
// Thread safety: all functions, on different folders. Cost: that of the files. Errors: a file that cannot be written
// gives a line in the log; the others are still written. Example: trace/test/task_files_test.cpp
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_data.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

struct job_trace_data;  // probe/record/trace_data.hpp

/// True if the settings require a trace.
bool wants_trace(const settings& s) noexcept;

/// Writes into the existing folder s.output and prints requested tables; last it writes measurement.json, which lists
/// what was recorded and dropped, the cost of measurement, and the files. Returns the first error. With `whole`, the
/// trace of a whole job is used.
result<void> write_task_files(recorder& r, const settings& s, const job_trace_data* whole = nullptr);

// Moments of a job as tables: the tasks on every worker of every locality, and the parcels in flight.
//
// Thread safety: all functions. Cost: O(n log n) of the slices. Errors: file errors, with the path.
// Example: trace/test/job_tables_test.cpp

/// job_timeline.csv (locality,worker,name,key,begin_s,end_s) and job_parcels.csv
/// (from,to,name,bytes,sent_s,received_s): at most `most` slices from the middle of the run, and at most `most` parcels
/// of the same period.
result<void> write_job_tables(const job_trace_data& trace, const std::string& folder, std::size_t most = 20'000);

}  // namespace plx::probe
