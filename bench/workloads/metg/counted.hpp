// The graph with counters, the idiom with the least overhead in any library with tasks: each task decrements the
// counters of its readers; of those that become ready it executes one itself and spawns the others.
#pragma once

#include <atomic>
#include <memory>

#include "metg/graph.hpp"

namespace metg {

class counters {
 public:
  explicit counters(const run& r) : missing_(new std::atomic<std::uint32_t>[r.index(r.steps(), 0)]) {
    for (step t = 0; t < r.steps(); ++t)
      for (point p = 0; p < r.shape().active(t); ++p)
        missing_[r.index(t, p)].store(static_cast<std::uint32_t>(r.shape().inputs(t, p).size()),
                                      std::memory_order_relaxed);
  }
  /// True for the last input. acq_rel: the task that continues sees the outputs of all inputs counted before.
  bool count_down(std::size_t index) { return missing_[index].fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::unique_ptr<std::atomic<std::uint32_t>[]> missing_;
};

/// An end of the graph: a task without readers. Tasks without inputs do not count: they end with the task that spawns
/// them.
inline bool is_end(const run& r, step t, point p) {
  return (t + 1 == r.steps() || r.shape().readers(t, p).empty()) && !r.shape().inputs(t, p).empty();
}

/// Executes a task and then one of those it makes ready, and so on; passes the others to `spawn(t, p)`. True if the
/// last one executed is an end of the graph.
template <class Spawn>
bool execute_from(run& r, counters& c, step t, point p, Spawn&& spawn) {
  while (true) {
    r.execute(t, p);
    if (is_end(r, t, p)) return true;
    bool more = false;
    point next = 0;
    if (t + 1 == r.steps()) return false;
    for (const point q : r.shape().readers(t, p)) {
      if (!c.count_down(r.index(t + 1, q))) continue;
      if (more) spawn(t + 1, next);
      next = q;
      more = true;
    }
    if (!more) return false;
    ++t;
    p = next;
  }
}

/// Calls `spawn(t, p)` for each task that has no inputs.
template <class Spawn>
void spawn_roots(const run& r, Spawn&& spawn) {
  for (step t = 0; t < r.steps(); ++t) {
    bool any = false;
    for (point p = 0; p < r.shape().active(t); ++p)
      if (r.shape().inputs(t, p).empty()) {
        spawn(t, p);
        any = true;
      }
    if (!any) return;  // patterns without inputs have none at any step
  }
}

}  // namespace metg
