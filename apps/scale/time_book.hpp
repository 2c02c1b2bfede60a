// Accounts the time of each worker by activity or reason for waiting; see time_use in replay.hpp.
//
// Idle time is classified when the worker gets a task, by what released the task: a message (late until its sender had
// sent it, then network) or a task of its own locality (local). Unclassified time at the end is local while another
// worker of the locality still had work, then imbalance until the last work anywhere ended, then reduction.
//
// Thread safety: none. Cost: some ns per event. Internal to scale. Example: replay_test.cpp
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "replay.hpp"

namespace plx::scale {

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
