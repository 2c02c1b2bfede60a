// The nodes above the blocks of a mesh: each is the parent of the nodes one level deeper in it. Above the root grid the
// tree continues with coarser nodes of negative level, each over 2x2x2 nodes of the level below, up to one node over
// which the domain extends by at most 4 cells of that node along every axis. Root grids need not be powers of two:
// children of a node of negative level that cover no block do not exist.
//
// Blocks keep their slots as node numbers; the nodes above them, the refined nodes, are numbered from slot_count() on,
// deepest level first, along the curve within a level, so that a loop over them in order visits children before
// parents. The last one is the top.
//
// Thread safety: const; any thread. Cost: construction takes about 300 ns per node; 250 bytes per node. Example:
// mesh/tree/test/tree_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/tree/block_mesh.hpp"

namespace plx::mesh {

/// A block (its slot) or a refined node of a tree.
using node_id = slot_id;

/// The level of the top of the tree: -k for the smallest k >= 0 with max(root_blocks) * block_size <= 4 * 2^k.
int top_level(const domain& d);

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
  /// The level of the top: 0 or negative.
  int coarsest() const { return refined_.empty() ? 0 : refined_.back().where.level; }

  /// The location; for a negative level -k, its coordinates are those of root blocks, divided by 2^k and rounded down.
  /// Requires: a refined node.
  const location& where(node_id node) const { return of(node).where; }
  /// In the order of mesh::child_of(); no_slot: a child that covers no block. Requires: a refined node.
  const std::array<node_id, 8>& children(node_id node) const { return of(node).children; }
  /// The children that exist, in the same order. Requires: a refined node.
  std::span<const node_id> child_list(node_id node) const {
    const refined_node& n = of(node);
    return {n.list.data(), static_cast<std::size_t>(n.count)};
  }
  /// The parent of a live block or a refined node, or no_slot for the top.
  node_id parent(node_id node) const { return parent_[static_cast<std::size_t>(node)]; }
  /// The parent as a list, which is empty for the top.
  std::span<const node_id> parents(node_id node) const {
    const node_id& p = parent_[static_cast<std::size_t>(node)];
    return {&p, p == no_slot ? 0u : 1u};
  }
  /// The nodes of the same level, blocks and refined, by direction (domain.hpp), through periodic boundaries too;
  /// self_direction: the node itself. no_slot where no node of that level is, beyond other boundaries, and for a free
  /// slot. Above the root grid the domain need not be a whole number of nodes wide: beyond a periodic boundary is the
  /// node itself if it is a whole number of periods wide, else no_slot.
  std::span<const node_id, direction_count> around(node_id node) const {
    return around_[static_cast<std::size_t>(node)];
  }
  /// Those that exist, once each, without the node itself.
  std::span<const node_id> level_neighbours(node_id node) const {
    const auto i = static_cast<std::size_t>(node);
    return std::span(level_neighbours_).subspan(first_neighbour_[i], first_neighbour_[i + 1] - first_neighbour_[i]);
  }
  /// Position on the curve of the first block under a refined node: the owner of that block owns the node.
  int position(node_id node) const { return of(node).position; }

 private:
  struct refined_node {
    location where;
    int position = 0;
    std::array<node_id, 8> children{no_slot, no_slot, no_slot, no_slot, no_slot, no_slot, no_slot, no_slot};
    std::array<node_id, 8> list{};  // the first `count`
    int count = 0;
  };
  const refined_node& of(node_id node) const { return refined_[static_cast<std::size_t>(node) - slots_]; }
  void link_grid(const block_mesh& mesh, int level);
  void link_finer();
  void list_neighbours(bool periodic);

  std::size_t slots_ = 0;
  std::vector<refined_node> refined_;
  std::vector<node_id> parent_;                               // by node
  std::vector<std::array<node_id, direction_count>> around_;  // by node
  std::vector<std::uint32_t> first_neighbour_;                // by node, and one more
  std::vector<node_id> level_neighbours_;
};

}  // namespace plx::mesh
