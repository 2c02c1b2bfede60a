// A recorded run as an OTF2 archive, for Vampir, Scalasca's tools, Pipit, otf2-print: a location per worker, a region
// per kind of task, enter and leave of each piece, parents as attributes, counters as metrics, marks as markers.
//
// Attributes of "enter": `task`, its number; `key`; `wait`, the ticks it lay ready; `parents`, how many tasks' doing it
// waited for (joins looked through, within trace/trace_text.hpp's bounds: `more parents`), and `parent 0` ...,
// their numbers. Of "leave": `finished`. A piece with a number lies between a ThreadTaskSwitch and, when its task ends,
// a ThreadTaskComplete: generationNumber is the lower 32 bits of the task's number, creatingThread the worker that gave
// it. Times are ticks of the clock since the machine's start, ClockProperties tell their rate. Thread safety: one
// archive at a time (a lock): the library's errors have one place per process. Cost: 0.35 us of a core per piece with
// few parents; memory: a few MiB. Errors: one line; on an error nothing remains. Example:
// trace/test/otf2_trace_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

/// Whether this library was built with OTF2.
bool has_otf2() noexcept;

/// Writes the folder `path` with traces.otf2 in it; one that is there already is replaced when the new one is whole.
/// With `job` it is the trace of a job: a location group per locality, in which a location "parcels" has what was sent
/// and received, as a rank of the communicator "localities". Requires: `graph` was made of `data`.
result<void> write_otf2_trace(const trace_data& data, const trace_graph& graph, const std::string& path,
                              const trace_job* job = nullptr);

}  // namespace plx::probe
