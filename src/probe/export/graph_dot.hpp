// The task graph in Graphviz' language: of a few tasks each one, of many the kinds of tasks.
//
// Thread safety: everything. Cost: O(tasks + links), times the number of kinds that meet in a join. Errors:
// base/file.hpp's. Example: probe/export/graph_dot_test.cpp
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "probe/trace_graph.hpp"

namespace plx::probe {

/// Each task, with what it waited for; darker is longer; the critical path is drawn bold.
std::string task_graph_dot(const trace_graph& g);
/// Each kind, with its calls and time; an edge says how many tasks of the one waited for tasks of the other.
std::string kind_graph_dot(const trace_graph& g);
/// The former for at most `most_single` tasks, else the latter.
result<void> write_graph_dot(const trace_graph& g, const std::string& path, std::size_t most_single = 100);

}  // namespace plx::probe
