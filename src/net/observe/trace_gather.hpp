// Gathers the traces of a job at its end: every locality stops recording; the root measures the clocks once more,
// fetches the traces of all in chunks, and gives them to its own session, which writes the files of the whole job.
//
// Traces are sent by parcels, so that hosts need not share a folder. A locality whose trace the root has fetched writes
// none of its own; one whose trace exceeds the root's remaining capacity writes its own files. The trace of a lost
// locality is lost as well, and the job's trace records that.
//
// Thread safety: one caller per locality. Cost: each trace is sent once; the root needs the memory of all traces
// together, at most `most_records` records, plus that of one locality. Errors: missing data are recorded in the trace
// and logged. Example: tests/net/test_job_traces.py
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/core/node.hpp"
#include "net/locality.hpp"
#include "net/observe/clock_offsets.hpp"
#include "net/parcels/message_log.hpp"
#include "probe/record/trace_data.hpp"
#include "rt/mutex.hpp"

namespace plx::net {

/// Merges the traces of all localities of a job: times of one clock, unique task numbers, and each parcel's send
/// matched with its receipt. A task's number contains the number of its worker's row (probe::task_id); in the job's
/// trace rows are numbered over all localities. A parcel is a join between the task that sent it and the task that it
/// made ready. Thread safety: one thread. Cost: O(n log n) in the messages, O(n) in everything else; the memory of the
/// merged trace, plus that of one locality. Example: net/observe/test/job_trace_test.cpp
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

class trace_gather final : public service {
 public:
  explicit trace_gather(node& n);
  ~trace_gather() override;

  /// Stops recording here, in a task. Requires: the job is quiescent, so that both ends of each parcel are recorded.
  void freeze();
  /// On the root, in a task: the trace of the job. First waits, for at most `timeout_s`, until all have stopped
  /// recording: messages sent earlier would be recorded in part of the traces.
  probe::job_trace_data gather(double timeout_s);
  /// On the root, at the end: the others stop waiting. `whole`: the traces fetched from them will be written.
  void let_go(bool whole);
  /// On the others, in a task: serves the root. True if the root has fetched the trace; false if it has not, is lost,
  /// or has not begun within the deadline, in which case it is notified that this locality has left. Once the root has
  /// begun, there is no deadline.
  bool wait_until_taken(double deadline_s);
  /// On the root: that locality left before its trace was requested.
  bool left(locality_id which);

  void peer_lost(locality_id peer) override;

  // Called by actions from other localities.
  struct head;
  struct own_trace;
  void note_frozen(locality_id which);
  void note_begun();
  void note_done(bool taken);
  void note_left(locality_id which);
  std::shared_ptr<const own_trace> collected();

  /// For all localities together: 1.5 GB.
  static constexpr std::uint64_t most_records = std::uint64_t{1} << 24;

 private:
  void wait_until_frozen(double timeout_s);
  bool take(locality_id from, job_trace& into, std::uint64_t& room);

  node& node_;
  mutex lock_;
  condition_variable_any changed_;
  bool begun_ = false, done_ = false, taken_ = false;
  std::vector<bool> frozen_, was_taken_, left_;  // by locality
  std::shared_ptr<const own_trace> own_;         // also held while a request is served
};

}  // namespace plx::net
