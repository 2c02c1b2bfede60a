// A graph of tasks of `width` points by a number of steps: defines the inputs of each task from the previous step.
// Modelled on Task Bench (Slaughter et al., SC 2020); the patterns are those of its paper where the names agree.
//
// Thread safety: constant after construction. Cost: spans into precomputed tables; patterns repeat after some steps.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace metg {

using point = std::uint32_t;
using step = std::uint32_t;

enum class pattern { trivial, stencil, fft, tree, nearest, spread, random, all_to_all };
inline constexpr pattern patterns[] = {pattern::trivial, pattern::stencil, pattern::fft,    pattern::tree,
                                       pattern::nearest, pattern::spread,  pattern::random, pattern::all_to_all};
const char* name_of(pattern p);

enum class kernel { compute, busy_wait, memory, imbalance, empty };
const char* name_of(kernel k);

class graph {
 public:
  /// Requires: width > 0. The number of steps is chosen per run.
  graph(pattern p, point width);

  [[nodiscard]] point width() const noexcept { return width_; }
  /// Points 0 .. active(t)-1 have a task at step t; fewer than width only at the start of a tree.
  [[nodiscard]] point active(step t) const noexcept { return layer_at(t).active; }
  /// Points of step t-1 that the task reads. Requires: p < active(t). Empty at step 0.
  [[nodiscard]] std::span<const point> inputs(step t, point p) const noexcept {
    if (t == 0) return {};
    const layer& l = layer_at(t);
    return {l.inputs.data() + l.first_input[p], l.first_input[p + 1] - l.first_input[p]};
  }
  /// Points of step t+1 that read the task: the inverse of inputs().
  [[nodiscard]] std::span<const point> readers(step t, point p) const noexcept {
    const layer& l = layer_at(t + 1);
    return {l.readers.data() + l.first_reader[p], l.first_reader[p + 1] - l.first_reader[p]};
  }
  [[nodiscard]] std::uint64_t tasks(step steps) const noexcept;

 private:
  struct layer {  // one step and its edges from the step before it
    point active;
    std::vector<point> inputs, first_input, readers, first_reader;
  };
  [[nodiscard]] const layer& layer_at(step t) const noexcept {
    return layers_[t < start_ ? t : start_ + (t - start_) % (static_cast<step>(layers_.size()) - start_)];
  }
  void add_layer(point active, const std::vector<std::vector<point>>& inputs);

  point width_;
  step start_ = 0;  // layers before this one occur once, the others repeat
  std::vector<layer> layers_;
};

/// The output of a task for its readers.
struct alignas(64) output {
  step t = ~step{0};
  point p = ~point{0};
};

/// A graph with a number of steps and work in its tasks: the input of a library.
class run {
 public:
  run(const graph& g, step steps, kernel k, double grain_s);

  [[nodiscard]] const graph& shape() const noexcept { return graph_; }
  [[nodiscard]] step steps() const noexcept { return steps_; }
  [[nodiscard]] std::uint64_t tasks() const noexcept { return graph_.tasks(steps_); }
  [[nodiscard]] const output* at(step t, point p) const noexcept { return &outputs_[index(t, p)]; }
  [[nodiscard]] output* at(step t, point p) noexcept { return &outputs_[index(t, p)]; }
  [[nodiscard]] std::size_t index(step t, point p) const noexcept { return std::size_t{t} * graph_.width() + p; }

  /// The task: checks that each input comes from the expected task, runs the kernel, and stores its own output.
  /// Thread-safe for different tasks whose inputs are done.
  void execute(step t, point p) noexcept;
  /// Empty if every task ran once with correct inputs; otherwise a description of the error.
  [[nodiscard]] std::string verify() const;

  /// Seconds of the kernel alone in all tasks.
  [[nodiscard]] double work_s() const noexcept { return grain_s_ * static_cast<double>(tasks()); }

 private:
  void work(step t, point p) const noexcept;

  const graph& graph_;
  step steps_;
  kernel kernel_;
  double grain_s_;
  std::vector<output> outputs_;
  alignas(64) mutable std::uint64_t wrong_ = 0;  // incremented atomically; stays 0 and unwritten if all is correct
};

/// Measures the undisturbed time of one unit of the kernel, once; call before the first run.
void calibrate();

// The graph with counters, the idiom with the least overhead in any library with tasks: each task decrements the
// counters of its readers; of those that become ready it executes one itself and spawns the others.
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
