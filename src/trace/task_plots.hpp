// Tables and graphs of a trace: concurrency over time, scatter of tasks and counters, the task graph as DOT, the tree
// of call paths.
//
// Thread safety: all functions. Cost: O(slices + cells x task types). Errors: those of base/file.hpp.
// Example: trace/test/concurrency_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

/// Number of concurrent tasks over time, by task type.
struct concurrency {
  double begin_s = 0;  // of the first cell, relative to the start of the run
  double cell_s = 0;
  std::vector<name_id> names;                // largest total first
  std::vector<std::vector<double>> running;  // [name][cell]: mean number of workers in tasks of that type
  std::vector<double> other;                 // [cell]: types without a row
};

/// Collects it from slices that are passed twice, in any order: for traces that do not fit into memory
/// (trace/tools/trace_concurrency.hpp). Memory: `cells` numbers per type.
class concurrency_counter {
 public:
  /// Requires: cells > 0.
  explicit concurrency_counter(std::size_t cells = 1000, std::size_t most_names = 20);
  /// The first time.
  void survey(name_id name, ticks begin, ticks end);
  /// The second time, in the same ticks.
  void add(name_id name, ticks begin, ticks end);
  /// Requires: survey() and then add() were called for all slices. `origin`: the start of the run.
  concurrency take(ticks origin);

 private:
  void choose_names();

  const std::size_t cells_, most_names_;
  ticks begin_ = ~ticks{0}, end_ = 0;
  std::vector<double> totals_;       // by name; below 0: no slice
  std::vector<std::size_t> row_of_;  // by name; most_names_: other
  concurrency found_;
};

/// Covers the first begin to the last end in `cells` cells; values are means, not samples, so short tasks are included.
/// Requires: cells > 0.
concurrency concurrency_over_time(const trace_data& data, std::size_t cells = 1000, std::size_t most_names = 20);

/// Columns time_s (the middle of a cell), running (all types), one per type, and "other".
result<void> write_concurrency_csv(const concurrency& c, const std::string& path);
/// The same, of concurrency_over_time().
result<void> write_concurrency_csv(const trace_data& data, const std::string& path, std::size_t cells = 1000);

// Individual tasks, a sample of them, and all samples of counters, as points for a plot.
//
// Thread safety: all functions. Cost: O(tasks); memory: a buffer. Errors: those of base/file.hpp.
// Example: trace/test/scatter_test.cpp

/// Columns kind,name,begin_s,value,id,key,worker,wait_s: for a "task" the value is its duration in seconds (of all its
/// slices), for a "counter" the sample. `share` of the tasks is selected by task number, identically in every file of a
/// run. If a name was traced only partly, always or from some moment on (trace_slice::every), its share is constant
/// over time: `share`, or the smallest traced share if that is less.
result<void> write_scatter_csv(const trace_data& data, const trace_graph& graph, double share, const std::string& path);

// The task graph in Graphviz' language: individual tasks for few tasks, task types for many.
//
// Thread safety: all functions. Cost: O(tasks + links), times the number of types that meet in a join. Errors:
// those of base/file.hpp. Example: trace/test/graph_dot_test.cpp

/// Each task with its dependencies; darker is longer; the critical path is bold.
std::string task_graph_dot(const trace_graph& g);
/// Each task type with its calls and time; an edge has the number of tasks of one type that waited for tasks of the
/// other.
std::string kind_graph_dot(const trace_graph& g);
/// task_graph_dot() for at most `most_single` tasks, otherwise kind_graph_dot().
result<void> write_graph_dot(const trace_graph& g, const std::string& path, std::size_t most_single = 100);

// The call-path tree: which task types started which others, with calls and times along each path of names.
//
// A task is placed below its maker, the task that provided its last input (trace_graph::maker). A name that occurs
// again on its own path is folded into its first occurrence, so that recursion and loops of continuations do not give
// deep trees.
// Thread safety: all functions. Cost: O(tasks). Errors: those of base/file.hpp. Example: trace/test/call_tree_test.cpp

/// The tasks of one type that were started along one path.
struct call_path {
  static constexpr std::uint32_t none = ~0u;
  std::uint32_t parent = none;  // precedes it in the tree
  name_id name = unnamed;
  std::uint32_t depth = 0;
  std::uint64_t tasks = 0;
  double own_s = 0;    // time of these tasks
  double below_s = 0;  // time including all tasks below them
};

/// Depth first, longest total time first.
std::vector<call_path> call_tree(const trace_graph& g);

/// As indented text; paths below `least_share` of the total are summed.
std::string call_tree_text(const std::vector<call_path>& tree, double least_share = 0.001);
/// Columns depth,path,name,tasks,own_s,below_s,share: path has " > " between names; share is that of below_s in the
/// total.
result<void> write_call_tree_csv(const std::vector<call_path>& tree, const std::string& path);

// Moments of a job as tables: the tasks on every worker of every locality, and the parcels in flight.
//
// Thread safety: all functions. Cost: O(n log n) of the slices. Errors: file errors, with the path.
// Example: trace/test/job_tables_test.cpp

/// job_timeline.csv (locality,worker,name,key,begin_s,end_s) and job_parcels.csv
/// (from,to,name,bytes,sent_s,received_s): at most `most` slices from the middle of the run, and at most `most` parcels
/// of the same period.
result<void> write_job_tables(const job_trace_data& trace, const std::string& folder, std::size_t most = 20'000);

}  // namespace plx::probe
