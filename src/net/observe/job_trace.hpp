// The traces of all localities of a job as one: times of one clock, numbers of tasks that are different everywhere, and
// what was sent and received put together.
//
// A task's number holds the number of its worker's row (probe::task_id); in the job's trace rows are counted through
// all localities, and so are the numbers. A parcel is a join between the task that sent it and what it made ready.
// Thread safety: one thread. Cost: O(n log n) of the messages, O(n) of all else; the memory of what is added, and that
// of one locality beside. Example: net/observe/test/job_trace_test.cpp
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

  /// What one locality recorded: in its own ticks, which `clock` turns into the root's. Requires: names are this
  /// process's; once per locality. Errors: false, with a line in its `missing`, when there are more workers than
  /// numbers of tasks can tell apart.
  bool add(locality_id which, const std::string& host, probe::trace_data&& part, message_log::records&& parcels,
           const clock_map& clock);
  /// There is nothing of it, or not all.
  void missing(locality_id which, const std::string& why);

  /// All together.
  probe::job_trace_data finish();

  /// Rows of workers in one trace.
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
