// The input of a replay: tasks of localities, messages between them, and their dependencies.
//
// A task starts when all its predecessors have ended or arrived; a message is sent when all its predecessors have
// ended.
// If several tasks become ready together, a worker prefers the one whose edge was added first.
//
// Thread safety: none. Cost: 32 bytes per node, 12 per edge while it is built, 4 after. Example: replay_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace plx::scale {

using node_id = std::uint32_t;
inline constexpr node_id no_node = ~node_id{0};

enum class node_kind : std::uint8_t {
  work,     ///< a task: the program's own work
  joining,  ///< a task of a reduction: its locality has no other task before it
  message,  ///< from one locality to another
};

/// A task of a locality, or a message to another one.
struct node {
  double work_s = 0.0;     ///< task: seconds on a core of the measuring machine
  double bytes = 0.0;      ///< message: its size; task: what it copies into messages
  std::int32_t where = 0;  ///< locality of the task, or sender
  std::int32_t to = -1;    ///< receiver of the message
  std::int32_t parts = 1;  ///< number of messages in this node: they leave and arrive together, and each costs
  node_kind kind = node_kind::work;
};

/// Build it (add, edge), then finish() it; constant afterwards.
class work_graph {
 public:
  node_id add(const node& n) { return nodes_.push_back(n), static_cast<node_id>(nodes_.size() - 1); }
  node_id add_task(int locality, double work_s) { return add({work_s, 0.0, locality, -1, 1, node_kind::work}); }
  node_id add_message(int from, int to, double bytes, int parts = 1) {
    return add({0.0, bytes, from, to, parts, node_kind::message});
  }
  void edge(node_id before, node_id after) { edges_.emplace_back(before, after); }
  /// A task (or message) copies `bytes` into a message that depends on it. Accounted to the task.
  void copies(node_id task, double bytes) { nodes_[task].bytes += bytes; }
  node& at(node_id n) { return nodes_[n]; }

  /// Sorts the edges. Requires: no edge added after.
  void finish();

  std::size_t size() const { return nodes_.size(); }
  const node& operator[](node_id n) const { return nodes_[n]; }
  std::span<const node_id> after(node_id n) const {
    return std::span(next_).subspan(begin_[n], begin_[n + 1] - begin_[n]);
  }
  /// The number of predecessors of each node.
  std::vector<std::int32_t> needs() const;
  int localities() const;

 private:
  std::vector<node> nodes_;
  std::vector<std::pair<node_id, node_id>> edges_;
  std::vector<std::uint32_t> begin_;  // by node, and one more: in next_
  std::vector<node_id> next_;
};

/// All localities join, then all continue.
struct reduction {
  std::vector<node_id> in;   ///< by locality: add edges from predecessors to it
  std::vector<node_id> out;  ///< by locality: add edges from it to successors
};

/// As net's all_reduce: pairs at distances 1, 2, 4, ... exchange their data; if the number of localities is not a power
/// of two, some communicate through a neighbour. log2(localities) consecutive messages, then two more.
reduction add_pairwise(work_graph& g, int localities, double bytes);
/// As net's all_gather: distances 1, 2, 4, ..., with twice as much data each time; `bytes` is the data of each
/// locality.
reduction add_gather(work_graph& g, int localities, double bytes, double header_bytes);
/// Every locality sends to every other: localities^2 messages at once.
reduction add_all_to_all(work_graph& g, int localities, double bytes);

}  // namespace plx::scale
