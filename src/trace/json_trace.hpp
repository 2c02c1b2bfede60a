// A recorded run as Trace Event JSON, for ui.perfetto.dev and chrome://tracing: a row per worker with its slices,
// arrows from the tasks that a slice waited for, counters as curves, and marks.
//
// Arguments of a slice: `task`, its number; `key`; `parents`, the tasks that it waited for, also through joins;
// `wait_us`, the time between ready and start; `ended`: "suspended"; `began`: "resumed".
// Thread safety: all functions, on different files. Cost: 1.7 us of a core per slice with three arrows, half of it
//   compression; memory: some lines.
// Errors: those of base/file.hpp; on an error no file remains. Example: trace/test/json_trace_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

/// Compressed if the path ends in .gz. A slice lists all parents within the bounds of trace/trace_text.hpp
/// ("more_parents" indicates further ones), with at most 8 arrows, and 2^18 in total. `otherData` contains the numbers
/// of records, dropped records, arrows, and slices with further parents. With `job` the trace is that of a job: a
/// process per locality; each parcel is a short slice at its sender and another one at its receiver, joined by an
/// arrow. Requires: `graph` was made from `data`.
result<void> write_json_trace(const trace_data& data, const trace_graph& graph, const std::string& path,
                              const trace_job* job = nullptr);
/// As above, creating the graph.
result<void> write_json_trace(const trace_data& data, const std::string& path);

}  // namespace plx::probe
