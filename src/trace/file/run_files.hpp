// The files of a run, one per locality, with their clocks: for readers that keep nothing in memory. load_trace()
// (trace_reader.hpp) uses it, too.
//
// Thread safety: values. Cost: if there are several files, a walk over the heads of the first one. Errors: one line.
// Example: trace/tools/test/trace_range_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/file/clock_map.hpp"
#include "trace/file/trace_reader.hpp"

namespace plx::probe {

/// One file.
struct run_file {
  std::string path;
  trace_start start;
  clock_map clock;  // its ticks as ticks of this process, whose clock is that of the first file but for the rate
};

/// The files in order of locality. Times of other localities are converted by the clock map in the root's file. If no
/// clock was measured, those of the root's host are not converted; all others are by the time of day, with a warning.
/// Errors: two files of one locality; a locality beyond their number.
result<std::vector<run_file>> run_files(const std::vector<std::string>& paths, std::vector<std::string>& warnings);

/// The part of a file that belongs to a part of the run.
tick_window window_of(const std::vector<run_file>& all, const run_file& one, const time_range& range);

}  // namespace plx::probe
