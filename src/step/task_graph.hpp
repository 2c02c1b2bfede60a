// The tasks of a recipe on the nodes of a mesh, and what they wait for: which passes run on a node, which of them begin
// a task, and which values reach other nodes and other localities. task_runner.hpp executes this graph; apps/scale
// replays it.
//
// Thread safety: const functions from any thread; adopt() exclusively. Cost: construction none; adopt() some 20 ns per
// node. Memory: 8 bytes per node. Example: step/test/task_graph_test.cpp
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "step/node_graph.hpp"
#include "step/recipe.hpp"

namespace plx::step {

/// The values of a field at a stencil: passes that write it, and passes that read it at other nodes. A node's values
/// are final when the last source that runs on it has ended.
struct link {
  access values;
  std::uint64_t source_bits = 0, reader_bits = 0;
  std::vector<int> sources, readers;
  border* by = nullptr;  ///< null: the field has no transfer for this stencil
  bool is_published = false;
  int carrier = 0;  ///< the link whose messages bring these values, this one or an earlier one with the same border
};

class task_graph {
 public:
  /// Requires: r.check(); the recipe outlives the graph.
  explicit task_graph(const recipe& r);

  /// Takes another mesh. Requires: the nodes outlive their use.
  void adopt(const node_graph& nodes);
  /// Makes the lists of all borders for the locality nodes().here(). Requires: all links have one; adopt().
  void adopt_borders();

  const recipe& of() const { return recipe_; }
  const node_graph& nodes() const { return *nodes_; }
  const std::vector<link>& links() const { return links_; }
  bool is_carrier(std::size_t l) const { return links_[l].carrier == static_cast<int>(l); }
  /// Links of which a pass may be the last source.
  const std::vector<int>& provided_by(int pass) const { return provided_[static_cast<std::size_t>(pass)]; }

  // Requires: adopt().
  /// The passes that run on a node, as bits; none on free slots.
  std::uint64_t passes_of(node_id node) const { return passes_of_[static_cast<std::size_t>(node)]; }
  bool is_last_source(const link& l, int pass, node_id node) const {
    return ((passes_of(node) & l.source_bits) >> pass) == 1;
  }
  /// The number of nodes that a pass of `node` waits for, once for each link. A pass with inputs begins a task; the
  /// others continue the task of the pass before, except the first of their node.
  std::int32_t inputs(node_id node, int pass) const;
  /// The local nodes with passes in the order in which they start. With several localities, nodes that others wait for
  /// come first, then those next to them, and so on. Requires: then adopt_borders().
  std::vector<node_id> order(bool is_alone) const;

 private:
  class use_of;
  int link_of(const access& a);

  const recipe& recipe_;
  const node_graph* nodes_ = nullptr;
  std::vector<link> links_;
  std::vector<std::vector<int>> provided_, read_;  // by pass: links
  std::vector<std::uint64_t> passes_of_;           // by node
};

/// The first of some passes, given as bits; -1: none.
inline int first_pass(std::uint64_t passes) { return passes == 0 ? -1 : std::countr_zero(passes); }
/// The first of them after a pass; -1: none.
inline int next_pass(std::uint64_t passes, int after) {
  const std::uint64_t later = passes >> after >> 1;
  return later == 0 ? -1 : after + 1 + std::countr_zero(later);
}

}  // namespace plx::step
