// The critical path of a recorded program, and its length if tasks of some type were faster.
//
// Work is the time of all tasks. The span is the longest chain of slices each of which had to wait for the previous
// one: no number of workers makes the program faster than the span. If a slice starts another task and continues, the
// path includes only the part before that moment. Time between being ready and starting is not work; it is listed as
// delay.
// Thread safety: all functions. Cost: O(nodes + links): 0.05 s of a core for a million tasks with three inputs each;
// for replays see trace/replay.hpp. Errors: none; for an incomplete graph the path may be too short
// (trace_graph::missing()). Example: trace/test/critical_path_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/replay.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

/// Factors of durations by name id; names beyond the end have factor 1.
using name_factors = std::span<const double>;

/// One task type, on the path and in total. Times in ticks.
struct path_kind {
  name_id name = unnamed;
  std::uint64_t tasks = 0;    // total number
  double work = 0;            // of all slices
  std::uint64_t on_path = 0;  // slices on the path
  double path = 0;            // contribution to the span
  double delay = 0;           // total time between ready and start, where known
  double path_delay = 0;      // time that the path waited before slices of this type beyond its dependencies
};

struct critical_path {
  double wall = 0;  // ticks from the first begin to the last end
  double work = 0;
  double span = 0;
  double delay = 0;                      // of all slices
  double path_delay = 0;                 // along the path: from the moment at which a slice could start to its start
  std::vector<path_kind> kinds;          // largest share of the path first
  std::vector<trace_graph::index> path;  // slices, first to last

  /// The average number of workers that the program could have kept busy.
  [[nodiscard]] double parallelism() const noexcept { return span > 0 ? work / span : 0.0; }
};

/// Computes the critical path and the task types on it.
critical_path find_critical_path(const trace_graph& g);

/// The span in ticks, with scaled durations.
double span_of(const trace_graph& g, name_factors factors = {});

/// The effect of scaling the durations of a task type by `factor`.
struct what_if {
  name_id name = unnamed;
  double factor = 1;
  double span = 0;  // ticks
  double wall = 0;  // estimate in ticks: measured wall time x replay with the factor / replay without it
};

/// The effect for each name. The span is exact for the recorded graph; the wall time is an estimate for the recorded
/// number of workers, by replay. Requires: `m` was made from `g`.
std::vector<what_if> predict_changes(const replay_model& m, const trace_graph& g, std::span<const name_id> names,
                                     double factor);

// The critical path and the scaled durations as a text table, as CSV and as JSON.
//
// Thread safety: all functions. Cost: a replay of the graph per task type evaluated. Errors: those of base/file.hpp.
// Example: trace/test/critical_path_files_test.cpp

/// The critical path with the data of its files.
struct critical_path_report {
  critical_path path;
  std::vector<what_if> half;  // the types with the largest shares: effect of halving their durations
  unsigned workers = 0;
  trace_graph::holes missing;
};

/// Evaluates the `most_asked` task types with the largest shares of the path. Requires: `g` was made from `d`.
critical_path_report report_critical_path(const trace_graph& g, const trace_data& d, std::size_t most_asked = 8);

/// Lines have at most 110 characters.
std::string critical_path_text(const critical_path_report& r, std::size_t rows = 20);
/// Columns name,tasks,work_s,on_path,path_s,path_share,delay_s,path_delay_s,half_span_s,half_wall_s: the last two are
/// empty for task types that were not evaluated.
result<void> write_critical_path_csv(const critical_path_report& r, const std::string& path);
/// The same data, with totals of the program and the gaps of the graph.
result<void> write_critical_path_json(const critical_path_report& r, const std::string& path);

}  // namespace plx::probe
