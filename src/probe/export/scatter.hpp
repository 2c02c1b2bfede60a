// Single tasks, a sample of them, and all samples of counters, as points for a plot.
//
// Thread safety: everything. Cost: O(tasks); memory: a buffer. Errors: base/file.hpp's.
// Example: probe/export/scatter_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "probe/trace_data.hpp"
#include "probe/trace_graph.hpp"

namespace plx::probe {

/// kind,name,begin_s,value,id,key,worker,wait_s: of a "task" the value is its duration in seconds (of all its pieces),
/// of a "counter" what was read. `share` of the tasks, chosen by their numbers: the same in every file of a run. Of a
/// name of which less was traced, all the time or from some moment on (trace_slice::every), it is the same share at all
/// times: `share`, or the least that was traced, if that is less.
result<void> write_scatter_csv(const trace_data& data, const trace_graph& graph, double share, const std::string& path);

}  // namespace plx::probe
