// The transfer of a field's values between localities: which nodes' values go to which peer, and how they are copied
// into messages and out of them. Both sides derive the same lists, in the same order, from the mesh and the partition.
//
// Thread safety: const functions and pack() from any thread, for different nodes; unpack() of different groups
// concurrently; adopt() exclusively. Cost: copies. Example: step/test/task_runner_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mesh/tree/tree.hpp"

namespace plx::step {

class node_graph;

/// One message: values of nodes of one locality that another one reads.
struct border_group {
  int peer = 0;  ///< receiver or sender
  std::vector<mesh::node_id> nodes;
  std::size_t doubles = 0;  ///< size of the message
};

enum class stencil : unsigned char;

/// The nodes on which a field is written, and those that read it at a stencil.
class border_use {
 public:
  virtual ~border_use() = default;
  virtual bool is_written(mesh::node_id node) const = 0;
  virtual bool reads(mesh::node_id node, stencil at) const = 0;
};

class border {
 public:
  virtual ~border() = default;
  /// Makes the lists for another mesh or partition: nodes on which the field is written, for readers on other
  /// localities.
  virtual void adopt(const node_graph& graph, const border_use& use) = 0;
  const std::vector<border_group>& sends() const { return sends_; }        ///< by peer
  const std::vector<border_group>& receives() const { return receives_; }  ///< by peer, in the order in which it sends
  /// Copies the values of nodes[index] of a group of sends() to their place in the message.
  virtual void pack(std::size_t group, std::size_t index, double* message) const = 0;
  /// Copies the values of a group of receives() out of the message.
  virtual void unpack(std::size_t group, const double* message) = 0;

 protected:
  std::vector<border_group> sends_, receives_;
};

/// The memory of a field: nodes that have some, each in a row of its own.
struct node_rows {
  std::vector<std::int32_t> of;  ///< by node; -1: none
  std::int32_t count = 0;
};

/// Values of nodes, the same number for each.
class node_values {
 public:
  explicit node_values(std::size_t doubles_per_node) : per_node_(doubles_per_node) {}
  /// Memory for all nodes. Values are undefined afterwards.
  void resize(std::size_t nodes);
  /// Memory for some nodes. Values are undefined afterwards.
  void resize(node_rows rows);
  /// Requires: the node has memory.
  double* at(mesh::node_id node) { return values_.data() + row(node) * per_node_; }
  const double* at(mesh::node_id node) const { return values_.data() + row(node) * per_node_; }
  double* data() { return values_.data(); }
  std::size_t per_node() const { return per_node_; }
  const node_rows& rows() const { return rows_; }

 private:
  std::size_t row(mesh::node_id node) const {
    return static_cast<std::size_t>(rows_.of[static_cast<std::size_t>(node)]);
  }

  std::size_t per_node_;
  node_rows rows_;
  std::vector<double> values_;
};

/// Nodes whose values travel between localities, by peer and level. Both sides of a message have the same order.
struct border_nodes {
  std::vector<border_group> sends, receives;
};
/// Those that other localities read here at any of the stencils, and those that this one reads there; each node once.
border_nodes nodes_between(const node_graph& graph, std::span<const stencil> at, const border_use& use,
                           std::size_t doubles_per_node);

/// Transfers all values of a node to the localities that read it at any of the stencils, once. Nodes of different
/// levels travel in different messages: a node of one level may depend on nodes of another.
class node_border final : public border {
 public:
  /// Requires: `values` outlives it.
  node_border(node_values& values, std::vector<stencil> at) : values_(values), at_(std::move(at)) {}
  void adopt(const node_graph& graph, const border_use& use) override;
  void pack(std::size_t group, std::size_t index, double* message) const override;
  void unpack(std::size_t group, const double* message) override;

 private:
  node_values& values_;
  std::vector<stencil> at_;
};

}  // namespace plx::step
