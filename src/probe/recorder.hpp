// All that a runtime's workers measure, and what is computed from it. One per runtime; it knows no runtime.
//
// Thread safety: worker(i)'s recording functions belong to worker i; everything else may be called by any thread at any
//   time. Cost: reading sums over workers and names; recording is worker_log.hpp's.
// Example: probe/recorder_test.cpp; what the numbers mean: docs/probe.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/names.hpp"
#include "probe/worker_log.hpp"

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

/// What one worker did with its time, in seconds.
struct worker_times {
  double exec_s = 0;
  double idle_s = 0;
  double overhead_s = 0;
  double background_s = 0;
  std::uint64_t tasks = 0;
};

class recorder {
 public:
  explicit recorder(unsigned n_workers);
  ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// As given to the constructor.
  unsigned worker_count() const noexcept;
  /// Requires: i < worker_count().
  worker_log& worker(unsigned i) noexcept;
  const worker_log& worker(unsigned i) const noexcept;

  /// Switches statistics and cost per key (both on at the start).
  void statistics(bool on);
  /// Switches cost per key.
  void costs(bool on);

  /// Switches tracing. Each worker gets a ring of `ring_records` (32 bytes each) when first switched on.
  void trace(bool on, std::size_t ring_records = std::size_t{1} << 20);
  /// Moves the rings' records to the recorder's own memory, so that rings do not overflow. At most 2^24 records are
  /// kept.
  void drain();
  /// Records kept by drain(), and records lost because a ring or the recorder's memory was full.
  std::uint64_t traced() const;
  /// Records for which there was no room.
  std::uint64_t trace_lost() const;

  /// A value of a counter at this moment, drawn as a curve in the trace. Nothing happens while tracing is off.
  void trace_counter(std::string_view name, double value);

  /// Names with at least one piece, the largest total first.
  std::vector<task_statistics> tasks() const;
  /// Keys with any cost since the last reset_costs(), in order of key.
  std::vector<key_cost> costs() const;
  /// Cost per key counts from zero again.
  void reset_costs();
  /// Requires: i < worker_count().
  worker_times times(unsigned i) const;

  /// The share of the workers' time that recording took: (ns per record, measured when the first recorder of the
  /// process is made) x records / (exec + idle + overhead + background). 0 when nothing was recorded.
  double measurement_cost() const;

  /// name,calls,total_s,mean_s,min_s,max_s,stddev_s,share
  result<void> write_profile_csv(std::string_view path) const;
  /// Drains, then writes Trace Event JSON for Perfetto; compressed when the path ends in .gz.
  result<void> write_trace_json(std::string_view path);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
