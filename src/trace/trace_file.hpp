// A recorded run as a file that can be read again: slices, edges, locks and placements, for `parallax what-if`.
//
// Keys, counters, marks and messages are not in it; the other formats have them (trace_export.hpp). Names become ids of
// the reading process. Times are exact.
// Thread safety: all functions, on different files. Cost: 20 ns per slice or edge to write, and as much to read; some
// 12 bytes per slice and 7 per edge. Errors: those of base/file.hpp; a damaged file is an error of one line.
// Example: trace/test/trace_file_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "probe/record/trace_data.hpp"

namespace plx::probe {

/// A trace that was read. Its localities have their rows alone; without localities it is that of one process.
struct stored_trace {
  job_trace_data trace;
  double ticks_per_second = 1;  // of the machine that recorded it
};

/// With `job`, the trace is that of a job.
result<void> write_what_if_trace(const trace_data& data, const std::string& path, const trace_job* job = nullptr);

/// Reads what write_what_if_trace() wrote.
result<stored_trace> read_what_if_trace(const std::string& path);

}  // namespace plx::probe
