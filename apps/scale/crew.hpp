// The workers of one locality and their choice of tasks. As in the runtime, a worker takes its newest task, then the
// oldest of another worker; messages to receive come before both.
//
// Thread safety: none. Cost: some ns, plus a check of each worker if one has no task of its own. Internal to scale.
#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "work_graph.hpp"

namespace plx::scale {

/// Cores of one host, granted in FIFO order.
class core_queue {
 public:
  core_queue(int cores, double slowness) : free_(cores), slowness_(slowness) {}

  /// Calls f, now or when a core is free.
  template <class F>
  void acquire(F&& f) {
    if (free_ == 0) return static_cast<void>(waiting_.emplace_back(std::forward<F>(f)));
    --free_;
    f();
  }
  void release();
  /// Seconds here per second on the measuring machine.
  double slowness() const { return slowness_; }

 private:
  int free_;
  double slowness_;
  std::deque<std::function<void()>> waiting_;
};

class crew {
 public:
  crew(int workers, core_queue& cores);

  void add_message(node_id m) { arrived_.push_back(m); }
  void add_task(int worker, node_id task) { ready_[worker].push_back(task); }
  /// The next node for a worker, or no_node.
  node_id next(int worker);
  bool has_work() const;

  void add_idle(int worker) { idle_.push_back(worker); }
  /// A worker that was idle and is now woken, or -1.
  int wake();

  core_queue& cores() { return *cores_; }

 private:
  core_queue* cores_;
  std::deque<node_id> arrived_;
  std::vector<std::deque<node_id>> ready_;  // by worker, the newest at the back
  std::vector<int> idle_;
};

}  // namespace plx::scale
