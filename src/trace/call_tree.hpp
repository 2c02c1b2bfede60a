// The call-path tree: which task types started which others, with calls and times along each path of names.
//
// A task is placed below its maker, the task that provided its last input (trace_graph::maker). A name that occurs
// again on its own path is folded into its first occurrence, so that recursion and loops of continuations do not give
// deep trees.
// Thread safety: all functions. Cost: O(tasks). Errors: those of base/file.hpp. Example: trace/test/call_tree_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

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

}  // namespace plx::probe
