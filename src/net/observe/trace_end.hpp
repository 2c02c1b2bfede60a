// Ends the traces of a job: every locality stops recording, so that both ends of each parcel are in the files, and the
// root measures the clocks once more before the others leave. Each locality has its own trace file, which the root's
// completes with the points of the clock maps (trace/file/trace_reader.hpp merges them).
//
// Thread safety: one caller per locality. Cost: a message per locality in each direction, and the measurement.
// Errors: a lost locality is not waited for. Example: net/observe/test/trace_end_test.cpp, tests/net/test_job_traces.py
#pragma once

#include <vector>

#include "net/core/node.hpp"
#include "net/locality.hpp"
#include "rt/mutex.hpp"

namespace plx::net {

class trace_end final : public service {
 public:
  explicit trace_end(node& n);

  /// Stops recording here, in a task. Requires: the job is quiescent, so that both ends of each parcel are recorded.
  void freeze();
  /// On the root, in a task: waits, for at most `timeout_s`, until all have stopped recording, and measures the clocks,
  /// all of them in the same time again, but at least clock_offsets::deadline_s.
  void measure_clocks(double timeout_s);
  /// On the root, at the end: the others stop waiting.
  void release();
  /// On the others, in a task: answers the root's measurement, until release(), the loss of the root, or the deadline
  /// if the root has not begun. In the last case the root is notified that this locality no longer waits.
  void wait_for_release(double deadline_s);
  /// On the root: that locality no longer waited when the clocks were measured.
  bool timed_out(locality_id which);

  void peer_lost(locality_id peer) override;

  // Called by actions from other localities.
  void note_frozen(locality_id which);
  void note_begun();
  void note_done();
  void note_timed_out(locality_id which);

 private:
  node& node_;
  mutex lock_;
  condition_variable_any changed_;
  bool begun_ = false, done_ = false;
  std::vector<bool> frozen_, timed_out_;  // by locality
};

}  // namespace plx::net
