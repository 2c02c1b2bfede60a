// The graph that a recorded program built: tasks, their pieces, the places where inputs meet, and what each waited for.
//
// A node is a piece of a task or a join; a link says that a node could not begin before another had come to a moment.
// Links never lead back: what the clocks of two sockets turn round is taken out and counted. Tasks that were recorded
// without an id stand alone.
// Thread safety: const functions: everything. Cost: made once, in O(n log n) of slices and edges: 0.5 s of a core
// and 130 MB for a million tasks with three inputs each; every look into it is O(1) but inputs() and parents().
// Example: trace/test/trace_graph_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/record/trace_data.hpp"

namespace plx::probe {

class trace_graph {
 public:
  /// Numbers of tasks, and of nodes: pieces first, then joins.
  using index = std::uint32_t;
  static constexpr index none = ~index{0};

  /// A task: its pieces, and who stands before it.
  struct task {
    task_id id = 0;  // 0: was not told
    name_id name = unnamed;
    std::uint64_t key = no_key;
    index first_piece = 0;
    index n_pieces = 0;
    std::uint32_t every = 1;  // one in so many pieces of its name was traced when the first one was recorded
  };
  /// A piece of a task as a node of the graph.
  struct piece {
    ticks begin = 0;
    ticks end = 0;    // never before begin
    ticks ready = 0;  // 0: not told
    index task = 0;
    std::uint32_t worker = 0;
  };
  /// The node it belongs to could not begin before `from` had come to `when`, which lies in that piece; of a join,
  /// `when` is the moment it was told.
  struct link {
    index from = 0;
    ticks when = 0;
  };
  /// What is known to be missing. Edges whose ends are unknown are no hole by themselves: a task may have been made
  /// before recording began, or not have run when it ended.
  struct holes {
    std::uint64_t lost_records = 0;
    std::uint64_t headless = 0;       // tasks whose first piece was recorded as a later one
    std::uint64_t unfinished = 0;     // tasks that did not end
    std::uint64_t unknown_edges = 0;  // edges with an end of which nothing was recorded
    std::uint64_t against_time = 0;   // edges that lead back in time, taken out

    /// Whether the graph is known to be incomplete.
    [[nodiscard]] bool any() const noexcept { return lost_records + headless != 0; }
  };

  /// Slices beyond 2^31 count as lost.
  explicit trace_graph(const trace_data& data);

  /// In order of their begin.
  [[nodiscard]] const std::vector<task>& tasks() const noexcept { return tasks_; }
  /// Task after task, those of one task in sequence.
  [[nodiscard]] const std::vector<piece>& pieces() const noexcept { return pieces_; }
  /// The pieces of a task.
  [[nodiscard]] std::span<const piece> pieces_of(const task& t) const { return {&pieces_[t.first_piece], t.n_pieces}; }
  /// The time of a task's pieces.
  [[nodiscard]] ticks length_of(const task& t) const noexcept;

  /// Pieces and joins.
  [[nodiscard]] index node_count() const noexcept { return static_cast<index>(first_link_.size() - 1); }
  /// Whether a node is a piece, as opposed to a join.
  [[nodiscard]] bool is_piece(index node) const noexcept { return node < pieces_.size(); }
  /// All nodes, none before one that it has a link from.
  [[nodiscard]] const std::vector<index>& order() const noexcept { return order_; }
  /// Links of all nodes together.
  [[nodiscard]] std::size_t link_count() const noexcept { return links_.size(); }
  /// What `node` waited for, the piece before it of the same task included.
  [[nodiscard]] std::span<const link> links(index node) const noexcept {
    return {links_.data() + first_link_[node], links_.data() + first_link_[node + 1]};
  }

  /// The piece that the slice at `position` of a worker's list became.
  [[nodiscard]] index piece_of(unsigned worker, std::size_t position) const { return numbers_[worker][position]; }
  /// What `node` waited for, joins looked through: links from pieces of other tasks, at most `most`. Cost: O(links
  /// looked at).
  [[nodiscard]] std::vector<link> inputs(index node, std::size_t most = ~std::size_t{0}) const;

  /// The task whose doing made `t` begin: the last of its inputs to come; `none` for a root.
  [[nodiscard]] index maker(index t) const noexcept { return maker_[t]; }
  /// The tasks that `t` waited for before its begin or in its middle, joins looked through, in order of number: at most
  /// `most`. Cost: O(links looked at).
  [[nodiscard]] std::vector<index> parents(index t, std::size_t most = ~std::size_t{0}) const;

  /// Workers of the trace, without the rows of devices.
  [[nodiscard]] unsigned worker_count() const noexcept { return n_workers_; }
  /// Whether a row of the trace is a stream of a device, which runs its pieces one after the other.
  [[nodiscard]] bool is_device(unsigned worker) const noexcept { return devices_[worker]; }
  /// What the trace lacks.
  [[nodiscard]] const holes& missing() const noexcept { return missing_; }
  /// From the first begin to the last end.
  [[nodiscard]] ticks wall() const noexcept;

 private:
  friend class trace_graph_builder;

  std::vector<task> tasks_;
  std::vector<piece> pieces_;
  std::vector<link> links_;  // of node n: [first_link_[n], first_link_[n + 1])
  std::vector<index> first_link_;
  std::vector<index> order_;
  std::vector<index> maker_;
  std::vector<std::vector<index>> numbers_;  // by worker and position
  std::vector<bool> devices_;                // by worker
  unsigned n_workers_ = 0;
  holes missing_;
};

}  // namespace plx::probe
