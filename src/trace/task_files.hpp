// All files about tasks that the settings of a run ask for, made of one copy of the trace.
//
// Thread safety: everything, on different folders. Cost: of the files. Errors: a file that cannot be written is a line
// in the log; the others are still written. Example: trace/test/task_files_test.cpp
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_data.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

struct job_trace_data;  // probe/record/trace_data.hpp

/// Whether the settings want tasks one by one.
bool wants_trace(const settings& s) noexcept;

/// Writes into the folder s.output, which is there, and prints what is to be seen on the screen; at the end
/// measurement.json, which says what was recorded, what was lost, what measuring cost, and which files there are. Gives
/// the first error. With `whole` the trace is that one, of a whole job.
result<void> write_task_files(recorder& r, const settings& s, const job_trace_data* whole = nullptr);

// Some moments of a job as tables: what every worker of every locality ran, and which parcels were under way.
//
// Thread safety: everything. Cost: O(n log n) of the pieces. Errors: file errors, with the path.
// Example: trace/test/job_tables_test.cpp

/// job_timeline.csv (locality,worker,name,key,begin_s,end_s) and job_parcels.csv
/// (from,to,name,bytes,sent_s,received_s): from the middle of the run, as many pieces as `most`, and as many parcels,
/// of the same span of time.
result<void> write_job_tables(const job_trace_data& trace, const std::string& folder, std::size_t most = 20'000);

}  // namespace plx::probe
