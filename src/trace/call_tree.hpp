// The call-path tree: which kinds of tasks made which others begin, with calls and times along each path of names.
//
// A task stands below the task that made it begin, the last of its inputs to come (trace_graph::maker). A name met
// again on its own path is folded into its first place, so that recursion and loops of continuations make no deep
// trees. Thread safety: everything. Cost: O(tasks). Errors: base/file.hpp's. Example: trace/test/call_tree_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

/// One kind of task by the way that led to it.
struct call_path {
  static constexpr std::uint32_t none = ~0u;
  std::uint32_t parent = none;  // stands before it in the tree
  name_id name = unnamed;
  std::uint32_t depth = 0;
  std::uint64_t tasks = 0;
  double own_s = 0;    // of these tasks
  double below_s = 0;  // and of all below them
};

/// Depth first, what takes longest first.
std::vector<call_path> call_tree(const trace_graph& g);

/// As a tree for people; what is below `least_share` of all is summed.
std::string call_tree_text(const std::vector<call_path>& tree, double least_share = 0.001);
/// depth,path,name,tasks,own_s,below_s,share: path has " > " between names; share is that of below_s in all.
result<void> write_call_tree_csv(const std::vector<call_path>& tree, const std::string& path);

}  // namespace plx::probe
