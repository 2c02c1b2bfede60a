// The nodes of a mesh as recipes see them: sets, stencils in both directions, and owners.
//
// Thread safety: const; any thread. Cost: construction takes some 10 ns per block, and 400 ns per node of the tree if
// it is needed. Example: step/test/task_runner_test.cpp
#pragma once

#include <span>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "mesh/tree/tree.hpp"
#include "step/recipe.hpp"

namespace plx::step {

class node_graph {
 public:
  /// For the locality `here`. Requires: mesh and parts outlive it, or the next construction. `with_tree`: refined
  /// nodes, and the stencils children, parent and level_neighbours.
  node_graph(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here, bool with_tree);
  /// Makes it the graph of another locality. Cost: some ns per refined node.
  void move_to(int here);

  std::size_t node_count() const { return with_tree_ ? tree_.node_count() : mesh_.slot_count(); }
  const mesh::block_mesh& mesh() const { return mesh_; }
  const mesh::curve_parts& parts() const { return parts_; }
  bool has_tree() const { return with_tree_; }
  const mesh::tree& tree() const { return tree_; }
  int here() const { return here_; }

  bool is_block(node_id node) const { return static_cast<std::size_t>(node) < mesh_.slot_count(); }
  /// Levels of the nodes; without a tree, those of the blocks from 0 on.
  level_range levels() const { return {with_tree_ ? tree_.coarsest() : 0, mesh_.deepest()}; }
  int level(node_id node) const { return is_block(node) ? mesh_.level(node) : tree_.where(node).level; }
  /// Position on the curve of the node, or of the first block under it.
  int position(node_id node) const { return is_block(node) ? mesh_.position(node) : tree_.position(node); }
  int owner(node_id node) const { return parts_.part_of(position(node)); }
  bool is_local(node_id node) const {
    const int p = position(node);
    return p >= parts_.begin(here_) && p < parts_.end(here_);
  }
  /// Local blocks along the curve, then local refined nodes, children before parents.
  std::span<const node_id> local() const { return local_; }
  bool contains(node_set set, node_id node) const;

  /// The nodes that `node` reads at a stencil.
  std::span<const node_id> read_by(stencil at, node_id node) const;
  /// The memory that a field on these nodes needs here: local nodes, then those that local nodes read at the stencils.
  node_rows rows(node_set set, std::span<const stencil> read_at) const;
  /// The nodes whose stencil contains `node`.
  std::span<const node_id> readers_of(stencil at, node_id node) const;

 private:
  // Lists of nodes by block.
  struct lists {
    std::vector<std::uint32_t> begin;  // by slot, and one more
    std::vector<node_id> nodes;
    std::span<const node_id> of(node_id node) const {
      return std::span(nodes).subspan(begin[node], begin[node + 1] - begin[node]);
    }
  };
  void list_faces();

  const mesh::block_mesh& mesh_;
  const mesh::curve_parts& parts_;
  int here_;
  bool with_tree_;
  mesh::tree tree_;
  std::vector<node_id> local_, itself_;
  lists finer_, coarser_;
};

}  // namespace plx::step
