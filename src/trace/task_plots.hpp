// Tables and graphs of a trace for plots: concurrency over time, scatter of tasks and counters, the task graph as DOT.
//
// Thread-safe. Cost: O(slices + cells x kinds). Errors: base/file.hpp's.
// Example: trace/test/concurrency_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

/// How many tasks ran at a time, by task type.
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

// Single tasks, a sample of them, and all samples of counters, as points for a plot.
//
// Thread safety: everything. Cost: O(tasks); memory: a buffer. Errors: base/file.hpp's.
// Example: trace/test/scatter_test.cpp

/// kind,name,begin_s,value,id,key,worker,wait_s: of a "task" the value is its duration in seconds (of all its pieces),
/// of a "counter" what was read. `share` of the tasks, chosen by their numbers: the same in every file of a run. Of a
/// name of which less was traced, all the time or from some moment on (trace_slice::every), it is the same share at all
/// times: `share`, or the least that was traced, if that is less.
result<void> write_scatter_csv(const trace_data& data, const trace_graph& graph, double share, const std::string& path);

// The task graph in Graphviz' language: of a few tasks each one, of many the kinds of tasks.
//
// Thread safety: everything. Cost: O(tasks + links), times the number of kinds that meet in a join. Errors:
// base/file.hpp's. Example: trace/test/graph_dot_test.cpp

/// Each task, with what it waited for; darker is longer; the critical path is drawn bold.
std::string task_graph_dot(const trace_graph& g);
/// Each kind, with its calls and time; an edge says how many tasks of the one waited for tasks of the other.
std::string kind_graph_dot(const trace_graph& g);
/// The former for at most `most_single` tasks, else the latter.
result<void> write_graph_dot(const trace_graph& g, const std::string& path, std::size_t most_single = 100);

}  // namespace plx::probe
