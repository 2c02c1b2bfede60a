// Some moments of a job as tables: what every worker of every locality ran, and which parcels were under way.
//
// Thread safety: everything. Cost: O(n log n) of the pieces. Errors: file errors, with the path.
// Example: probe/export/job_tables_test.cpp
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "probe/trace_job.hpp"

namespace plx::probe {

/// job_timeline.csv (locality,worker,name,key,begin_s,end_s) and job_parcels.csv
/// (from,to,name,bytes,sent_s,received_s): from the middle of the run, as many pieces as `most`, and as many parcels,
/// of the same span of time.
result<void> write_job_tables(const job_trace_data& trace, const std::string& folder, std::size_t most = 20'000);

}  // namespace plx::probe
