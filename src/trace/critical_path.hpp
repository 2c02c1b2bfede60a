// The longest path through a recorded program, and how long it would take if some kind of task were faster.
//
// Work is the time of all tasks; the span is the longest chain of pieces each of which had to wait for the one before:
// no number of workers is faster than the span. Of a piece that made another begin and then went on, the path counts
// what lay before that moment. Time between being ready and beginning is no work: it is told apart, as delay.
// Thread safety: everything. Cost: span: O(nodes + links); replay: O(pieces log pieces): 0.05 s and 0.1 s of a core
// for a million tasks with three inputs each.
// Errors: none; a graph with holes gives a path that may be too short (trace_graph::missing()).
// Example: trace/test/critical_path_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

/// What a name's durations are multiplied with, by its id; names beyond the end, and an empty span, mean 1.
using name_factors = std::span<const double>;

/// One kind of task, on the path and off it. Times in ticks.
struct path_kind {
  name_id name = unnamed;
  std::uint64_t tasks = 0;    // in all
  double work = 0;            // of all its pieces
  std::uint64_t on_path = 0;  // pieces on the path
  double path = 0;            // what they add to the span
  double delay = 0;           // how long all its pieces lay ready, as far as that was told
  double path_delay = 0;      // what the path waited before pieces of this kind, beyond what it had to
};

struct critical_path {
  double wall = 0;  // ticks from the first begin to the last end
  double work = 0;
  double span = 0;
  double delay = 0;                      // of all pieces
  double path_delay = 0;                 // along the path: from when a piece could begin to when it did
  std::vector<path_kind> kinds;          // the largest share of the path first
  std::vector<trace_graph::index> path;  // pieces, first to last

  /// How many workers the program could have kept busy on average.
  [[nodiscard]] double parallelism() const noexcept { return span > 0 ? work / span : 0.0; }
};

/// The longest path, and what lies on it.
critical_path find_critical_path(const trace_graph& g);

/// The span alone, in ticks, as it would be with other durations.
double span_of(const trace_graph& g, name_factors factors = {});

/// How long `workers` workers would need for the graph, in ticks, if each took the piece that was ready first, any
/// piece could run anywhere, and starting a task took no time. Requires: workers > 0.
double replay(const trace_graph& g, unsigned workers, name_factors factors = {});

/// An answer to "what if tasks of this kind took `factor` times as long".
struct what_if {
  name_id name = unnamed;
  double factor = 1;
  double span = 0;  // ticks
  double wall = 0;  // estimate in ticks: measured wall time x replay with the factor / replay without
};

/// Answers for each name. The span is exact for the recorded graph; the wall time is an estimate on as many workers as
/// were recorded.
std::vector<what_if> ask_what_if(const trace_graph& g, std::span<const name_id> names, double factor);

// The critical path, and what-if, as a table for people, as CSV and as JSON.
//
// Thread safety: everything. Cost: a replay of the graph per kind asked about. Errors: base/file.hpp's.
// Example: trace/test/critical_path_files_test.cpp

/// The critical path and what its files are made of.
struct critical_path_report {
  critical_path path;
  std::vector<what_if> half;  // of the kinds with the largest shares: what if they took half the time
  unsigned workers = 0;
  trace_graph::holes missing;
};

/// Asks about the `most_asked` kinds with the largest share of the path.
critical_path_report report_critical_path(const trace_graph& g, std::size_t most_asked = 8);

/// Lines of at most 110 characters.
std::string critical_path_text(const critical_path_report& r, std::size_t rows = 20);
/// name,tasks,work_s,on_path,path_s,path_share,delay_s,path_delay_s,half_span_s,half_wall_s: the last two are empty for
/// kinds that were not asked about.
result<void> write_critical_path_csv(const critical_path_report& r, const std::string& path);
/// The same, with the whole program's numbers and what is missing in the graph.
result<void> write_critical_path_json(const critical_path_report& r, const std::string& path);

}  // namespace plx::probe
