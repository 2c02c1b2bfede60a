// All that a runtime's workers measure, and what is computed from it. One per runtime; it knows no runtime.
//
// Thread safety: worker(i)'s recording functions belong to worker i; everything else may be called by any thread at any
//   time. Cost: reading sums over workers and names; recording is worker_log.hpp's.
// Example: probe/record/test/recorder_test.cpp; what the numbers mean: docs/probe.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/record/names.hpp"
#include "probe/record/trace_data.hpp"
#include "probe/record/wait_log.hpp"
#include "probe/record/worker_log.hpp"

namespace plx::probe {

/// One name, summed over the workers. Times in seconds.
struct task_statistics {
  name_id id = unnamed;
  std::string_view name;
  std::uint64_t calls = 0;   // finished tasks
  std::uint64_t slices = 0;  // pieces: one per call, and one more for each time a task was suspended
  double total_s = 0;        // time of all pieces
  double mean_s = 0;         // mean, extremes and standard deviation of the finished tasks' lengths
  double min_s = 0;
  double max_s = 0;
  double stddev_s = 0;
};

/// What the work on one object cost.
struct key_cost {
  std::uint64_t key = no_key;
  double seconds = 0;
  std::uint64_t calls = 0;
};

/// How long tasks lay ready before they began. Percentiles are upper bounds of bins whose ends differ by a factor of 2.
struct ready_wait {
  std::uint64_t samples = 0;
  double mean_s = 0;
  double p50_s = 0;
  double p99_s = 0;
  double max_s = 0;
};

/// What one worker did with its time, in seconds.
struct worker_times {
  double exec_s = 0;
  double idle_s = 0;
  double overhead_s = 0;
  double background_s = 0;
  std::uint64_t tasks = 0;
};

/// What tasks waited for, summed over the workers. Times in seconds, from the suspension until the task went on.
struct wait_statistics {
  std::string_view kind;         // "mutex", "future", ...
  const void* object = nullptr;  // null: none, or many that live shortly
  std::string_view name;         // of the object; "" when it has none
  std::uint64_t waits = 0;
  double total_s = 0;
  double max_s = 0;
};

/// Of a worker's flight recorder: 2 MiB, of which the pages that were used exist.
inline constexpr std::size_t default_flight_records = std::size_t{1} << 16;

/// Records of a trace that are kept unless asked otherwise: 512 MiB.
inline constexpr std::uint64_t default_trace_limit = std::uint64_t{1} << 24;

class device_lanes;

class recorder {
 public:
  /// Workers may be added later, until there are `most_workers`. Requires: n_workers > 0 if any will be added.
  explicit recorder(unsigned n_workers, unsigned most_workers = 0);
  ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// As given to the constructor, and those added since.
  unsigned worker_count() const noexcept;
  /// One more worker, which records what the first one does; null when there are `most_workers`. For programs whose
  /// threads come and go: see attach/core/program.hpp.
  worker_log* add_worker();
  /// What the row of a worker is called in traces, instead of "worker 3". Requires: i < worker_count().
  void name_worker(unsigned i, std::string_view name);
  /// Requires: i < worker_count().
  worker_log& worker(unsigned i) noexcept;
  const worker_log& worker(unsigned i) const noexcept;
  /// Where worker `i` books how long tasks were suspended. Requires: i < worker_count().
  wait_log& waits_of(unsigned i) noexcept;
  const wait_log& waits_of(unsigned i) const noexcept;

  /// Switches statistics and cost per key (both on at the start).
  void statistics(bool on);
  /// Switches cost per key.
  void costs(bool on);

  /// What devices do: statistics of it, and while tracing is on, lanes in the trace (device_lanes.hpp).
  device_lanes& devices() noexcept;
  [[nodiscard]] const device_lanes& devices() const noexcept;

  /// Switches tracing. Each worker gets a ring of `ring_records` (32 bytes each) when first switched on. With a share
  /// below 1, one piece in so many is traced, and no edges.
  void trace(bool on, std::size_t ring_records = std::size_t{1} << 20, double share = 1);
  /// From now on this share of the pieces of tasks of one name is traced, below 1 without edges; 0: none. Until trace()
  /// says what holds for all. When all names that have run are below 1, nothing is noted of where tasks come from.
  void trace_kind(name_id name, double share);
  /// Switches what tells where tasks come from: with tracing it goes on by itself; alone it gives span_s().
  void paths(bool on);
  /// The longest path of tasks so far, each the cause of the next, in seconds: no number of workers could have been
  /// faster. Of the tasks that began after paths() or trace().
  double span_s() const;
  /// Who is told of every event from now on (task_event.hpp), or nobody. Never stops the world: one who is taken away
  /// may still be told for a moment, so it must live as long as this recorder.
  void observe(task_observer* o);
  /// The last pieces of at least `from_s` of every worker are kept, `records` of them (32 bytes each): see
  /// flight_ring.hpp. 0 records: no longer. Requires: at most one size is used in a recorder's life.
  void flight(std::size_t records, double from_s = 1e-6);
  /// Moves the rings' records to the recorder's own memory, so that rings do not overflow. At most trace_limit()
  /// records are kept.
  void drain();
  /// How many records of a trace are kept, of 32 bytes each; later ones are dropped and counted. From now on.
  void set_trace_limit(std::uint64_t records);
  /// The limit that set_trace_limit() set.
  [[nodiscard]] std::uint64_t trace_limit() const;
  /// Records kept by drain(), and records lost because a ring or the recorder's memory was full.
  std::uint64_t traced() const;
  /// Records for which there was no room.
  std::uint64_t trace_lost() const;

  /// A value of a counter at this moment, drawn as a curve in the trace. Nothing happens while tracing is off.
  void trace_counter(std::string_view name, double value);

  /// Something that happened now, shown in the trace. Nothing happens while tracing is off.
  void mark(std::string_view category, std::string_view text);
  /// Drops the trace so far: what was drained, what lies in the rings, samples and marks. For who traces now and then.
  void forget_trace();
  /// Drains, then gives all that was recorded so far. Cost: a copy of the trace: 48 bytes per piece and 24 per edge,
  /// beside the 32 bytes of each record.
  trace_data collect_trace();

  /// Names with at least one piece, the largest total first.
  std::vector<task_statistics> tasks() const;
  /// The same, of one worker. Requires: i < worker_count().
  std::vector<task_statistics> tasks(unsigned i) const;
  /// Keys with any cost since the last reset_costs(), in order of key.
  std::vector<key_cost> costs() const;
  /// Slices whose cost is in none of them: a worker met more than 2^20 keys that are no small numbers.
  std::uint64_t costs_lost() const;
  /// Cost per key counts from zero again.
  void reset_costs();
  /// What tasks waited for, the largest total first.
  std::vector<wait_statistics> waits() const;
  /// Requires: i < worker_count().
  worker_times times(unsigned i) const;

  /// How long tasks were ready before they began, of a sample: one in 128, or one in 13 while edges are traced.
  probe::ready_wait ready_wait() const;

  /// The share of the workers' time that measuring took: (ticks per slice, per record of a trace, per look at the
  /// clock, as measured once per process) x (their numbers), and the processor time of what is periodic, over (exec +
  /// idle + overhead + background). 0 when nothing was recorded.
  double measurement_cost() const;
  /// All processor time that measuring took beside the workers: draining, printing, sampling.
  void set_background(double s) noexcept;

  /// kind,object,name,waits,total_s,max_s
  result<void> write_waits_csv(std::string_view path) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
