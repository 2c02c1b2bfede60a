// A recorded run as an OTF2 archive, for Vampir, Scalasca's tools, Pipit, otf2-print: a location per worker, a region
// per task type, enter and leave of each slice, parents as attributes, counters as metrics, marks as markers.
//
// Attributes of "enter": `task`, its number; `key`; `wait`, the ticks between ready and start; `parents`, the number of
// tasks that it waited for (also through joins, within the bounds of trace/trace_text.hpp: `more parents`), and
// `parent 0` ..., their numbers. Attribute of "leave": `finished`. A slice with a number lies between a
// ThreadTaskSwitch and, when its task ends, a ThreadTaskComplete: generationNumber is the lower 32 bits of the task's
// number, creatingThread the worker that assigned it. Times are ticks of the clock since the machine's start;
// ClockProperties gives their rate.
// Thread safety: one archive at a time (a lock), because the library's error callback is process-wide. Cost: 0.35 us of
// a core per slice with few parents; memory: a few MiB. Errors: one line; on an error nothing remains.
// Example: trace/test/otf2_trace_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

/// True if this library was built with OTF2.
bool has_otf2() noexcept;

/// Writes the folder `path` with traces.otf2; an existing one is replaced once the new one is complete. With `job` the
/// trace is that of a job: a location group per locality, with a location "parcels" that contains what was sent and
/// received, as a rank of the communicator "localities". Requires: `graph` was made from `data`.
result<void> write_otf2_trace(const trace_data& data, const trace_graph& graph, const std::string& path,
                              const trace_job* job = nullptr);

}  // namespace plx::probe
