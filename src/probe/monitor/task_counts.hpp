// Events of the workers' threads, and stated work (probe/record/work.hpp), divided among task types.
//
// For each event, task types + no task = the sum of the workers' counts, exactly. No task includes slices that have not
// ended. Thread safety: sums() by any thread. Cost: a read of each worker's events at each boundary of a slice; sums()
// reads each worker's events once. Example: probe/monitor/test/task_counts_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "probe/record/recorder.hpp"
#include "probe/record/slice_counts.hpp"

namespace plx::probe {

/// An event that is counted by task type: "page-faults".
struct counted_event {
  std::string name;
  double scale = 1;  // of counts, to the unit of the counter /perf/NAME

  /// A count in that unit, as files have it; exact.
  [[nodiscard]] std::string text(std::uint64_t count) const;
};

/// Sums over the workers; an index of events is that of `events`.
struct counts_of_tasks {
  /// Counts and stated work of a task type.
  struct of_task {
    event_counts events{};
    double flops = 0, bytes = 0;
  };
  std::vector<counted_event> events;
  bool work = false;             // stated work was counted
  std::vector<of_task> by_name;  // index: name_id; names beyond its end have none
  event_counts no_task{}, total{};
  double counted = 1;  // the least share of a worker's time in which its events were counted
  std::uint64_t failed_reads = 0;

  /// Those of one task type.
  [[nodiscard]] of_task of(name_id id) const noexcept { return id < by_name.size() ? by_name[id] : of_task{}; }
};

class task_counts {
 public:
  /// Counts from now on, until this object ends. `sources`: one per worker, each with `events`; none: work alone.
  /// `work`: whether stated work is counted. Requires: the workers run no tasks when this object ends, before `r`.
  /// Workers that the recorder gets later are not counted.
  task_counts(recorder& r, bool work, std::vector<counted_event> events = {},
              std::vector<std::shared_ptr<count_source>> sources = {});
  ~task_counts();
  task_counts(const task_counts&) = delete;
  task_counts& operator=(const task_counts&) = delete;

  /// Until now.
  [[nodiscard]] counts_of_tasks sums() const;

 private:
  recorder& recorder_;
  const bool work_;
  const std::vector<counted_event> events_;
  const std::vector<std::shared_ptr<count_source>> sources_;
  std::vector<std::unique_ptr<slice_counts>> workers_;
};

}  // namespace plx::probe
