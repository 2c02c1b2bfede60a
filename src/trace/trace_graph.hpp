// The graph of a recorded program: tasks, their slices, joins of inputs, and dependencies.
//
// A node is a slice of a task or a join. A link states that a node could not begin before another one had reached a
// moment. Links never lead back in time: those that contradict it, such as by clock differences between sockets, are
// removed and counted. Tasks recorded without an id have no links.
// Thread safety: const functions: all. Cost: construction in O(n log n) of slices and edges: 0.5 s of a core and 130 MB
// for a million tasks with three inputs each; every access is O(1) except inputs() and parents().
// Example: trace/test/trace_graph_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/record/trace_data.hpp"

namespace plx::probe {

class trace_graph {
 public:
  /// Indices of tasks, and of nodes: slices first, then joins.
  using index = std::uint32_t;
  static constexpr index none = ~index{0};

  /// A task and its slices.
  struct task {
    task_id id = 0;  // 0: unknown
    name_id name = unnamed;
    std::uint64_t key = no_key;
    index first_piece = 0;
    index n_pieces = 0;
    std::uint32_t every = 1;  // 1 in `every` slices of its name was traced when the first one was recorded
  };
  /// A slice of a task as a node of the graph.
  struct piece {
    ticks begin = 0;
    ticks end = 0;    // never before begin
    ticks ready = 0;  // 0: unknown
    index task = 0;
    std::uint32_t worker = 0;
  };
  /// The node could not begin before `from` had reached `when`, which lies in that slice; for a join, `when` is the
  /// moment at which it was recorded.
  struct link {
    index from = 0;
    ticks when = 0;
  };
  /// Known gaps. Edges with unknown ends are not gaps by themselves: the task may have been created before recording
  /// began, or not have run when it ended.
  struct holes {
    std::uint64_t lost_records = 0;
    std::uint64_t headless = 0;       // tasks whose first recorded slice is not their first one
    std::uint64_t unfinished = 0;     // tasks without a recorded end
    std::uint64_t unknown_edges = 0;  // edges with an end that was not recorded
    std::uint64_t against_time = 0;   // removed edges that lead back in time

    /// True if the graph is known to be incomplete.
    [[nodiscard]] bool any() const noexcept { return lost_records + headless != 0; }
  };

  /// Slices beyond 2^31 count as dropped.
  explicit trace_graph(const trace_data& data);

  /// In order of their begin.
  [[nodiscard]] const std::vector<task>& tasks() const noexcept { return tasks_; }
  /// Grouped by task, in order within a task.
  [[nodiscard]] const std::vector<piece>& pieces() const noexcept { return pieces_; }
  /// The slices of a task.
  [[nodiscard]] std::span<const piece> pieces_of(const task& t) const { return {&pieces_[t.first_piece], t.n_pieces}; }
  /// The total time of a task's slices.
  [[nodiscard]] ticks length_of(const task& t) const noexcept;

  /// Number of slices and joins.
  [[nodiscard]] index node_count() const noexcept { return static_cast<index>(first_link_.size() - 1); }
  /// True for a slice, false for a join.
  [[nodiscard]] bool is_piece(index node) const noexcept { return node < pieces_.size(); }
  /// All nodes in topological order.
  [[nodiscard]] const std::vector<index>& order() const noexcept { return order_; }
  /// Number of links.
  [[nodiscard]] std::size_t link_count() const noexcept { return links_.size(); }
  /// The dependencies of `node`, including the previous slice of the same task.
  [[nodiscard]] std::span<const link> links(index node) const noexcept {
    return {links_.data() + first_link_[node], links_.data() + first_link_[node + 1]};
  }

  /// The node of the slice at `position` in a worker's list.
  [[nodiscard]] index piece_of(unsigned worker, std::size_t position) const { return numbers_[worker][position]; }
  /// The dependencies of `node` with joins resolved: at most `most` links from slices of other tasks. Cost: O(links
  /// visited).
  [[nodiscard]] std::vector<link> inputs(index node, std::size_t most = ~std::size_t{0}) const;

  /// The task that started `t`: the one that provided its last input; `none` for a root.
  [[nodiscard]] index maker(index t) const noexcept { return maker_[t]; }
  /// The tasks that `t` waited for before or after its begin, with joins resolved, ordered by number: at most `most`.
  /// Cost: O(links visited).
  [[nodiscard]] std::vector<index> parents(index t, std::size_t most = ~std::size_t{0}) const;

  /// Workers of the trace, without device rows.
  [[nodiscard]] unsigned worker_count() const noexcept { return n_workers_; }
  /// True if a row is a stream of a device, which runs its operations one at a time.
  [[nodiscard]] bool is_device(unsigned worker) const noexcept { return devices_[worker]; }
  /// The known gaps of the trace.
  [[nodiscard]] const holes& missing() const noexcept { return missing_; }
  /// Time from the first begin to the last end.
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
