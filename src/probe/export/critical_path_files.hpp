// The critical path, and what-if, as a table for people, as CSV and as JSON.
//
// Thread safety: everything. Cost: a replay of the graph per kind asked about. Errors: base/file.hpp's.
// Example: probe/export/critical_path_files_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/critical_path.hpp"

namespace plx::probe {

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
