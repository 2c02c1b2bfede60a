// Replays a recorded program on simulated workers, unchanged or with changes: the number of workers, the duration of
// task types, locks, priorities, messages.
//
// The model: a slice of a task takes the recorded time and releases what depends on it at the recorded moments. As in
// the runtime, a worker takes urgent tasks and its own newest one, then tasks from outside, then half of another
// worker's tasks, oldest first; a task that has to wait lets the worker take another one. A lock is held from the
// recorded moment to the recorded one; a task that finds it taken waits, and tries again when it is released. Time for
// which no recorded task was responsible, from the last dependency of a slice until it was ready, stays as it was:
// sleeps, timers, messages, threads outside the runtime. Such a thread is taken to submit tasks after a wait for all
// earlier ones, as main() does between two calls of run(). An idle worker begins a slice after the time that this took
// in the recorded run; after the median of all slices if this one did not wait for an idle worker, or if the number of
// workers is given, since of several idle workers the quickest begins.
// Not modelled: caches and memory bandwidth, workers that share a core, waits for shared mutexes (dependencies in the
// recorded order).
// Thread safety: const functions: all. Cost: building: O((n + links) log links); run(): O((n + links) log workers): see
// docs/probe.md. Memory: some 60 bytes per slice and 16 per link.
// Errors: none. Example: trace/test/replay_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace_graph.hpp"

namespace plx::probe {

/// Changes of a recorded program. All empty: none.
struct replay_changes {
  unsigned workers = 0;           // of each locality; 0: as recorded
  std::vector<double> factors{};  // of durations, by name id; names beyond the end have factor 1
  std::vector<bool> no_lock{};    // by lock: it is never waited for
  bool no_messages = false;       // messages between localities take no time
  std::vector<int> priorities{};  // by name id: 0 normal, 1 high, 2 low; below 0, or beyond the end: as recorded
};

/// Times in ticks.
struct replayed {
  double time = 0;               // from the first begin to the last end
  double work = 0;               // of all slices, without those of devices
  double span = 0;               // the longest chain of dependent slices and recorded waits
  double lower = 0, upper = 0;   // bounds of the time of any schedule: see bounds in docs/probe.md
  std::uint64_t unfinished = 0;  // slices that never became ready: the changes contradict recorded waits
};

/// The slices, dependences and locks of a run, as a replay needs them.
class replay_model {
 public:
  using index = trace_graph::index;

  /// A lock of the recorded program.
  struct lock {
    std::uint64_t object = 0;
    name_id name = unnamed;
    std::uint64_t times = 0, waits = 0;  // taken; waited for
    double held = 0;                     // ticks
  };

  /// Requires: `g` was made from `d`.
  replay_model(const trace_graph& g, const trace_data& d, const trace_job* job = nullptr);

  /// Requires: every factor is positive.
  [[nodiscard]] replayed run(const replay_changes& changes = {}) const;

  /// The recorded time, in ticks.
  [[nodiscard]] double recorded() const noexcept { return recorded_; }
  /// By first use.
  [[nodiscard]] const std::vector<lock>& locks() const noexcept { return locks_; }
  /// Recorded workers of each locality, without devices.
  [[nodiscard]] const std::vector<unsigned>& workers() const noexcept { return workers_; }
  /// Whether a slice waited for a message from another locality.
  [[nodiscard]] bool has_messages() const noexcept { return has_messages_; }

 private:
  friend class replay_builder;
  friend class replay_player;

  enum class act : std::uint32_t { release, take, give };
  /// Something that happens within a slice.
  struct action {
    double at = 0;  // ticks since the slice began
    act what = act::release;
    index target = 0;  // the node released, or the lock
  };
  static constexpr std::uint8_t of_device = 1, by_message = 2, resumed = 4;
  struct node {
    double length = 0;
    double delay = 0;                  // from the last dependency until it is ready
    float pickup = 0;                  // from ready to begin on an idle worker
    index first_action = 0;            // its actions end where those of the next node begin
    index n_inputs = 0;                // dependencies
    index before = trace_graph::none;  // the previous slice of its task
    name_id name = unnamed;
    std::uint16_t locality = 0;
    std::uint16_t worker = 0;  // one more than the only worker that runs it; 0: any
    std::uint8_t priority = 0;
    std::uint8_t flags = 0;
  };

  [[nodiscard]] bool is_slice(index n) const noexcept { return n < n_slices_; }
  [[nodiscard]] double usual_pickup(const node& n) const noexcept { return n.delay > 0 ? event_pickup_ : task_pickup_; }

  std::vector<node> nodes_;  // slices, then joins, then one that only ends the last one's actions
  std::vector<action> actions_;
  std::vector<index> order_;
  std::vector<lock> locks_;
  std::vector<unsigned> workers_;
  index n_slices_ = 0;
  double recorded_ = 0;
  double task_pickup_ = 0, event_pickup_ = 0;
  bool has_messages_ = false;
};

}  // namespace plx::probe
