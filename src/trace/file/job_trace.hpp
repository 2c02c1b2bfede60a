// Merges the traces of all localities of a job: times of one clock, unique task numbers, and each parcel's send matched
// with its receipt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/record/trace_data.hpp"
#include "probe/record/trace_sink.hpp"
#include "trace/file/clock_map.hpp"

namespace plx::probe {

/// The parcels of one locality.
struct trace_parcels {
  std::vector<trace_parcel> sent, received;
};

/// A task's number contains the number of its worker's row (task_id); in the job's trace rows are numbered over all
/// localities. A parcel is a join between the task that sent it and the task that it
/// made ready. Thread safety: one thread. Cost: O(n log n) in the messages, O(n) in everything else; the memory of the
/// merged trace, plus that of one locality. Example: trace/file/test/job_trace_test.cpp
class job_trace {
 public:
  explicit job_trace(unsigned localities) { job().localities.resize(localities); }

  /// Adds the records of one locality, in its own ticks, which `clock` converts to the root's. Requires: names are this
  /// process's; called once per locality. Errors: false, with a text in its `missing`, if there are more workers than
  /// task numbers can distinguish.
  bool add(unsigned which, const std::string& host, trace_data&& part, trace_parcels&& parcels, const clock_map& clock);
  /// Records that data of a locality are missing, in whole or in part.
  void missing(unsigned which, const std::string& why);

  /// Returns the merged trace.
  job_trace_data finish();

  /// The maximum number of worker rows in one trace.
  static constexpr unsigned most_workers = 0xfffe;

 private:
  struct parcel {
    trace_parcel r;
    unsigned at;
  };
  void match();
  trace_job& job() noexcept { return whole_.job; }

  job_trace_data whole_;
  std::vector<parcel> sent_, received_;
};

}  // namespace plx::probe
