// The workers of one locality, their choice of tasks, and the accounts of their time. As in the runtime, a worker takes
// its newest task, then the oldest of another worker; messages to receive come before both.
//
// Thread safety: none. Cost: some ns, plus a check of each worker if one has no task of its own. Internal to scale.
// Example: replay_test.cpp
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "replay.hpp"
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

/// Accounts the time of each worker by activity or reason for waiting; see time_use in replay.hpp.
///
/// Idle time is classified when the worker gets a task, by what released the task: a message (late until its sender had
/// sent it, then network) or a task of its own locality (local). Unclassified time at the end is local while another
/// worker of the locality still had work, then imbalance until the last work anywhere ended, then reduction.
class time_book {
 public:
  /// All workers idle.
  time_book(int localities, int workers, double begin_s)
      : workers_(workers), idle_(localities * workers), last_work_(localities, begin_s) {
    for (open& i : idle_) i.since_s = begin_s;
  }

  /// The worker (locality * workers + number) is idle from now on.
  void idles(int worker, double now) { idle_[worker].since_s = now; }
  /// The worker searches for a task and finds one.
  void woke(int worker, double now) { idle_[worker].pieces.emplace_back(idle_[worker].since_s, now); }
  /// The worker found work, released by a message that was sent at sent_s, or, if that is negative, by its own
  /// locality. This classifies its idle time since the last call. (A reduction is not work and classifies nothing.)
  void judge(int worker, double sent_s);

  void work(double seconds) { use_.work += seconds; }
  void overhead(double seconds) { use_.overhead += seconds; }
  void core(double seconds) { use_.core += seconds; }
  /// Work of a locality ended now.
  void worked(int locality, double now) { last_work_[locality] = std::max(last_work_[locality], now); }

  /// The result, at the end. Requires: every worker is idle.
  time_use close(double end);

 private:
  struct open {
    double since_s = 0.0;
    std::vector<std::pair<double, double>> pieces;  // not classified yet
  };
  void add_open_end(int locality, double begin, double end, double last_anywhere);

  int workers_;
  time_use use_;
  std::vector<open> idle_;         // by worker
  std::vector<double> last_work_;  // by locality
};

}  // namespace plx::scale
