// Trace files as Perfetto's protobuf, for ui.perfetto.dev and its trace processor: a track per worker and per stream of
// a device with its slices, arrows from the slices that a slice waited for, counters as curves, marks, parcels.
//
// Arguments of a slice: `task`, its number; `key`, or `bytes` of an operation; `wait_ns`, the time between ready and
// begin; `ready_by`, the task that made it ready; `suspended`; `resumed`.
// Source: the field numbers of perfetto/trace/trace.proto and the files that it includes (protos v59).
// Thread safety: all functions, on different files. Memory: 40 MiB at most, whatever the size of the trace. Cost: three
// readings of the file (trace_reader.hpp), and compression. Errors: those of trace_reader.hpp and base/file.hpp; on an
// error no file remains. Example: trace/tools/test/perfetto_trace_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/file/trace_reader.hpp"

namespace plx::probe {

/// The numbers of events in the file.
struct perfetto_summary {
  std::uint64_t slices = 0, arrows = 0;
  std::vector<std::string> warnings;
};

/// Writes the files of a run, or the slices that lie in a part of it; compressed if the path ends in .gz. Arrows exist
/// for the first 2^18 dependencies of each file in that range, at most 8 per slice.
result<perfetto_summary> write_perfetto_trace(const std::vector<std::string>& files, const std::string& path,
                                              const time_range& range = {});

}  // namespace plx::probe
