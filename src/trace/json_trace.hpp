// A recorded run as Trace Event JSON, for ui.perfetto.dev and for chrome://tracing: a row per worker with a slice per
// piece of a task, arrows from what a task waited for, curves of counters, marks.
//
// Arguments of a slice: `task`, its number; `key`; `parents`, the tasks whose doing it waited for, joins looked
// through; `wait_us`, how long it lay ready; `ended`: "suspended"; `began`: "resumed". Thread safety: everything, on
// different files. Cost: 1.7 us of a core per slice with three arrows, half of it compression; memory: some lines.
// Errors: base/file.hpp's; on an error nothing remains. Example: trace/test/json_trace_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

/// Compressed when the path ends in .gz. Of a piece all parents are told, within trace/trace_text.hpp's
/// bounds ("more_parents" says that there are more), and at most 8 arrows are drawn into it, 2^18 in all; `otherData`
/// counts records, losses, arrows, and pieces with more parents.
/// With `job` it is the trace of a job: a process per locality, and each parcel a short slice where it was sent,
/// another one where it came, and an arrow between. Requires: `graph` was made of `data`.
result<void> write_json_trace(const trace_data& data, const trace_graph& graph, const std::string& path,
                              const trace_job* job = nullptr);
/// The same, for those who need no graph besides.
result<void> write_json_trace(const trace_data& data, const std::string& path);

}  // namespace plx::probe
