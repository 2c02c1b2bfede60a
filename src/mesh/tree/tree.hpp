// The refined nodes above the blocks of a mesh: each is the parent of eight nodes one level deeper. Blocks keep their
// slots as node numbers; the refined nodes are numbered from slot_count() on, deepest level first, along the curve
// within a level, so that a loop over them in order visits children before parents.
//
// Thread safety: const; any thread. Cost: construction takes about 50 ns per node. Example:
// mesh/tree/test/tree_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "mesh/tree/curve_parts.hpp"

namespace plx::mesh {

/// A block (its slot) or a refined node of a tree.
using node_id = slot_id;

class tree {
 public:
  /// A tree without nodes.
  tree() = default;
  explicit tree(const block_mesh& mesh);

  /// Nodes are 0..node_count()-1; the slots of a mesh may be free.
  std::size_t node_count() const { return slots_ + refined_.size(); }
  /// Number of refined nodes.
  std::size_t refined_count() const { return refined_.size(); }
  bool is_refined(node_id node) const { return static_cast<std::size_t>(node) >= slots_; }
  /// The node with number slot_count() + i; children come before their parents.
  node_id refined(std::size_t i) const { return static_cast<node_id>(slots_ + i); }

  /// Requires: a refined node.
  const location& where(node_id node) const { return of(node).where; }
  /// In the order of mesh::child_of(). Requires: a refined node.
  const std::array<node_id, 8>& children(node_id node) const { return of(node).children; }
  /// The parent of a live block or a refined node, or no_slot for a block of the root grid.
  node_id parent(node_id node) const { return parent_[static_cast<std::size_t>(node)]; }
  /// The parent as a list, which is empty for a block of the root grid.
  std::span<const node_id> parents(node_id node) const {
    const node_id& p = parent_[static_cast<std::size_t>(node)];
    return {&p, p == no_slot ? 0u : 1u};
  }
  /// Position on the curve of the first block under a refined node: the owner of that block owns the node.
  int position(node_id node) const { return of(node).position; }

 private:
  struct refined_node {
    location where;
    int position = 0;
    std::array<node_id, 8> children{};
  };
  const refined_node& of(node_id node) const { return refined_[static_cast<std::size_t>(node) - slots_]; }

  std::size_t slots_ = 0;
  std::vector<refined_node> refined_;
  std::vector<node_id> parent_;  // by node
};

}  // namespace plx::mesh
