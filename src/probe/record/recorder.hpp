// Measurements of all workers of a runtime, and results computed from them. One per runtime, but independent of it.
//
// Thread safety: the recording functions of worker(i) belong to worker i; all other functions are thread-safe. Cost:
// reading sums over workers and names; for recording see worker_log.hpp.
// Example: probe/record/test/recorder_test.cpp; meaning of the numbers: docs/probe.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/record/idle_balance.hpp"
#include "probe/record/names.hpp"
#include "probe/record/trace_data.hpp"
#include "probe/record/wait_log.hpp"
#include "probe/record/worker_log.hpp"

namespace plx::probe {

/// One task name, summed over the workers. Times in seconds.
struct task_statistics {
  name_id id = unnamed;
  std::string_view name;
  std::uint64_t calls = 0;   // finished tasks
  std::uint64_t slices = 0;  // one per call, and one more for each suspension
  double total_s = 0;        // time of all slices
  double mean_s = 0;         // mean, extremes and standard deviation of the durations of finished tasks
  double min_s = 0;
  double max_s = 0;
  double stddev_s = 0;
  double p50_s = 0;         // half of the durations are not longer; known to an eighth, as the next
  double p99_s = 0;         // 99 % are not longer
  double blamed_s = 0;      // idle time of workers that is charged to it: see idle_balance.hpp
  double lock_waits_s = 0;  // for which others waited, summed over them, for locks that it held
};

/// The cost of the work on one object.
struct key_cost {
  std::uint64_t key = no_key;
  double seconds = 0;
  std::uint64_t calls = 0;
};

/// Time from ready to start. Percentiles are upper bounds of bins whose limits differ by a factor of 2.
struct ready_wait {
  std::uint64_t samples = 0;
  double mean_s = 0;
  double p50_s = 0;
  double p99_s = 0;
  double max_s = 0;
};

/// The time of one worker by use, in seconds.
struct worker_times {
  double exec_s = 0;
  double idle_s = 0;
  double overhead_s = 0;
  double background_s = 0;
  std::uint64_t tasks = 0;
};

/// The idle time of workers by what it is charged to, in seconds. Their sum is the idle time, except for the share of
/// slices that still run.
struct idle_blame {
  double blamed_s = 0;        // to task types
  double unattributed_s = 0;  // no task ran, or workers may not take tasks
};

/// Waits of tasks, summed over the workers. Times in seconds, from suspension to resumption.
struct wait_statistics {
  std::string_view kind;         // "mutex", "future", ...
  const void* object = nullptr;  // null: none, or many short-lived ones
  std::string_view name;         // of the object; "" if it has none
  std::uint64_t waits = 0;
  double total_s = 0;
  double max_s = 0;
};

/// Records of a worker's flight recorder: 2 MiB, of which only used pages take memory.
inline constexpr std::size_t default_flight_records = std::size_t{1} << 16;

class device_lanes;
class trace_sink;    // trace_sink.hpp
class trace_source;  // trace_sink.hpp

class recorder {
 public:
  /// Workers may be added later, up to `most_workers`. Requires: n_workers > 0 if any will be added.
  explicit recorder(unsigned n_workers, unsigned most_workers = 0);
  ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// The constructor's argument plus the workers added since.
  unsigned worker_count() const noexcept;
  /// Adds a worker, which records the same data as the first; null if there are `most_workers`. For programs that
  /// create and end threads at run time: see attach/core/program.hpp.
  worker_log* add_worker();
  /// The name of a worker's row in traces, instead of "worker 3". Requires: i < worker_count().
  void name_worker(unsigned i, std::string_view name);
  /// Requires: i < worker_count().
  worker_log& worker(unsigned i) noexcept;
  const worker_log& worker(unsigned i) const noexcept;
  /// The log of the suspensions of worker `i`. Requires: i < worker_count().
  wait_log& waits_of(unsigned i) noexcept;
  const wait_log& waits_of(unsigned i) const noexcept;

  /// Enables statistics and cost per key (both enabled initially).
  void statistics(bool on);
  /// Enables cost per key.
  void costs(bool on);

  /// Device operations: statistics and, while tracing is on, lanes in the trace (device_lanes.hpp).
  device_lanes& devices() noexcept;
  [[nodiscard]] const device_lanes& devices() const noexcept;

  /// Enables tracing. Each worker gets a ring of `ring_records` (32 bytes each) the first time. With a share below 1,
  /// only that share of the slices is traced, without edges.
  void trace(bool on, std::size_t ring_records = std::size_t{1} << 20, double share = 1);
  /// Sets the share of the traced slices of one task name from now on, below 1 without edges; 0: none. The next trace()
  /// overrides it. When the shares of all names that have run are below 1, edges are not recorded.
  void trace_kind(name_id name, double share);
  /// Enables the recording of task dependencies. Tracing includes it; on its own it provides span_s().
  void paths(bool on);
  /// The longest path of dependent tasks so far, in seconds: a lower bound on the run time for any number of workers.
  /// Covers tasks that began after paths() or trace().
  double span_s() const;
  /// Sets the observer of task events (task_event.hpp); null removes it. Does not stop the workers: a removed observer
  /// may still receive events for a moment, so it must live as long as this recorder.
  void observe(task_observer* o);
  /// Enables counts of slices, for workers with worker_log::set_counts() (monitor/task_counts.hpp).
  void counting(bool on);
  /// Keeps the last slices of at least `from_s` of every worker, `records` of them (32 bytes each): see
  /// flight_ring.hpp. 0 records: disables it, unless a flight_use exists. A worker keeps the size of its first ring.
  void flight(std::size_t records, double from_s = 1e-6);
  /// Keeps, for the slices of the flight recorder from now on, their tasks and what made these ready (flight_link),
  /// until each call with true has been followed by one with false. Cost: as paths(), and one more record per slice. No
  /// effect without the flight recorder.
  void flight_links(bool on);
  /// Moves the rings' records to the recorder's own memory, so that the rings do not overflow; for tests and short
  /// traces. With stream_to() they go to the sink instead, with all samples and marks. May wait for the sink;
  /// only add_source(), collect_trace(), forget_trace() and stream_to() wait for it, too. (trace() waits for the sink
  /// of lend_trace(), which it ends.)
  void drain();
  /// From now on drain() passes the trace to `sink`; null: keeps it in memory again, after a last drain. `locality`, of
  /// `localities`: which process of a job this is.
  void stream_to(trace_sink* sink, unsigned locality = 0, unsigned localities = 1);
  /// A trace for another measurement of the running program, beside which the program keeps the use of its recorder:
  /// passes the trace to `sink` from now on, as trace(true) and stream_to() do. False if the program traces at present,
  /// or has records that collect_trace() would return. A later trace(), stream_to(), forget_trace() or collect_trace()
  /// ends it first, so these never mix both. The sink must outlive it.
  bool lend_trace(trace_sink& sink, std::size_t ring_records, unsigned locality = 0, unsigned localities = 1);
  /// Passes waiting records to the sink of lend_trace(). False if the program has ended that trace.
  bool drain_lent_trace();
  /// Ends it, after a last drain. False if the program had ended it. No effect without it.
  bool end_lent_trace() noexcept;
  /// For handlers of fork(), which would otherwise copy a lock that another thread holds: holds all locks of the
  /// recorder from one to the other, in parent and child. May wait for the sink.
  void lock_for_fork();
  void unlock_after_fork() noexcept;  ///< see lock_for_fork()
  /// Drains `source`, too, while it exists.
  void add_source(std::weak_ptr<trace_source> source);
  /// Records kept by drain(), or passed to a sink.
  std::uint64_t traced() const;
  /// Records lost because a ring or the recorder's memory was full.
  std::uint64_t trace_lost() const;

  /// Records the present value of a counter, drawn as a curve in the trace. No effect while tracing is off.
  void trace_counter(std::string_view name, double value);

  /// Records an event at the present time, shown in the trace. No effect while tracing is off.
  void mark(std::string_view category, std::string_view text);
  /// Discards the trace so far: drained records, records in the rings, samples and marks. For programs that trace
  /// repeatedly.
  void forget_trace();
  /// Drains, and returns everything recorded so far. Cost: a copy of the trace: 48 bytes per slice and 24 per edge, in
  /// addition to the 32 bytes of each record.
  trace_data collect_trace();

  /// Statistics by name, largest total first; names without a slice are omitted.
  std::vector<task_statistics> tasks() const;
  /// The same for one worker. Requires: i < worker_count().
  std::vector<task_statistics> tasks(unsigned i) const;
  /// The time of all slices of each name on one worker, in ticks; index: name_id. Requires: i < worker_count().
  void times_of_names(unsigned i, std::vector<ticks>& into) const;
  /// The durations of finished tasks of a name.
  duration_histogram durations(name_id id) const;
  /// Keys with a cost since the last reset_costs(), in order of key.
  std::vector<key_cost> costs() const;
  /// Slices whose cost is not accounted to a key, because a worker used more than 2^20 large keys.
  std::uint64_t costs_lost() const;
  /// Resets the cost of all keys to zero.
  void reset_costs();
  /// Waits of tasks, largest total first.
  std::vector<wait_statistics> waits() const;
  /// Requires: i < worker_count().
  worker_times times(unsigned i) const;
  /// The balance of the workers that join it (worker_log::join()).
  idle_balance& balance() noexcept;
  /// The idle time of workers that have joined the balance, by what it is charged to. For task types see tasks().
  idle_blame blame() const;

  /// Time from ready to start, for a sample of the tasks: one in 128, or one in 13 while edges are traced.
  probe::ready_wait ready_wait() const;

  /// The share of the workers' time that measurement took: (ticks per slice, per trace record and per clock reading, as
  /// measured once per process) x (their counts), plus the processor time of periodic functions, over (exec + idle +
  /// overhead + background). 0 if nothing was recorded.
  double measurement_cost() const;
  /// Sets the processor time that measurement took outside the workers: draining, printing, sampling.
  void set_background(double s) noexcept;

  /// Columns: kind,object,name,waits,total_s,max_s
  result<void> write_waits_csv(std::string_view path) const;

 private:
  friend class flight_use;
  struct state;
  std::unique_ptr<state> state_;
};

/// A use of the flight recorder beside the program's own, such as the timeline of a live page: slices are kept while
/// any flight_use exists, and while flight() has enabled the recorder, which nothing but flight() disables.
/// Cost: rings of `records` if the recorder has none. The recorder must outlive it.
/// Example: probe/crash/test/flight_ring_test.cpp
class flight_use {
 public:
  flight_use(recorder& r, std::size_t records);
  ~flight_use();
  flight_use(const flight_use&) = delete;
  flight_use& operator=(const flight_use&) = delete;

 private:
  recorder& recorder_;
};

}  // namespace plx::probe
