// How many workers ran tasks of which kind, over time, on a regular grid.
//
// Thread safety: everything. Cost: O(slices + cells x kinds). Errors: base/file.hpp's.
// Example: probe/export/concurrency_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/trace_data.hpp"

namespace plx::probe {

struct concurrency {
  double begin_s = 0;  // of the first cell, from the run's begin
  double cell_s = 0;
  std::vector<name_id> names;                // the largest total first
  std::vector<std::vector<double>> running;  // [name][cell]: mean number of workers in tasks of that kind
  std::vector<double> other;                 // [cell]: the kinds that have no row of their own
};

/// From the first begin to the last end, in `cells` cells: means, not samples, so that no short task is missed.
/// Requires: cells > 0.
concurrency concurrency_over_time(const trace_data& data, std::size_t cells = 1000, std::size_t most_names = 20);

/// time_s (the middle of a cell), running (all kinds), then a column per kind, and "other".
result<void> write_concurrency_csv(const trace_data& data, const std::string& path, std::size_t cells = 1000);

}  // namespace plx::probe
