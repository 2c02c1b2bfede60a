// Merges the traces of all localities of a job: times of one clock, unique task numbers, and each parcel's send matched
// with its receipt.
//
// A task's number contains the number of its worker's row (probe::task_id); in the job's trace rows are numbered over
// all localities. A parcel is a join between the task that sent it and the task that it made ready.
// Thread safety: one thread. Cost: O(n log n) in the messages, O(n) in everything else; the memory of the merged trace,
// plus that of one locality. Example: net/observe/test/job_trace_test.cpp
#pragma once

#include <string>
#include <vector>

#include "net/locality.hpp"
#include "net/observe/clock_offsets.hpp"
#include "net/parcels/message_log.hpp"
#include "probe/record/trace_data.hpp"

namespace plx::net {

class job_trace {
 public:
  explicit job_trace(unsigned localities) { job().localities.resize(localities); }

  /// Adds the records of one locality, in its own ticks, which `clock` converts to the root's. Requires: names are this
  /// process's; called once per locality. Errors: false, with a text in its `missing`, if there are more workers than
  /// task numbers can distinguish.
  bool add(locality_id which, const std::string& host, probe::trace_data&& part, message_log::records&& parcels,
           const clock_map& clock);
  /// Records that data of a locality are missing, in whole or in part.
  void missing(locality_id which, const std::string& why);

  /// Returns the merged trace.
  probe::job_trace_data finish();

  /// The maximum number of worker rows in one trace.
  static constexpr unsigned most_workers = 0xfffe;

 private:
  struct parcel {
    message_record r;
    locality_id at;
  };
  void match();
  probe::trace_job& job() noexcept { return whole_.job; }

  probe::job_trace_data whole_;
  std::vector<parcel> sent_, received_;
};

}  // namespace plx::net
