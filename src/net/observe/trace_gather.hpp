// The end of what a job measures: every locality stops recording, the root measures the clocks once more, takes the
// traces of all, piece by piece, and gives them to its own session, which writes the files of the whole job.
//
// By parcels, so that hosts need share no folder. A locality whose trace the root has taken writes none of its own; one
// that the root could not take, because it holds more than there is room for, writes its own files. Of one that is lost
// nothing is left, and the job's trace says so.
//
// Thread safety: one caller per locality. Cost: the trace once over the network; at the root the memory of all traces
// together, at most `most_records` of them, and one locality's beside. Errors: what is missing is in the trace, and in
// the log. Example: tests/net/test_job_traces.py
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/core/node.hpp"
#include "rt/mutex.hpp"

namespace plx::probe {
struct job_trace_data;
}
namespace plx::net {

class job_trace;

class trace_gather final : public service {
 public:
  explicit trace_gather(node& n);
  ~trace_gather() override;

  /// Stops recording here: when the job is quiet, both sides of each parcel have been noted. As a task.
  void freeze();
  /// On the root, as a task: the trace of the job. Waits at first until all have stopped recording, for so long at
  /// most: what it sends before would be half in their traces.
  probe::job_trace_data gather(double patience_s);
  /// On the root, in the end: the others need wait no longer. `whole`: what was taken of them will be written.
  void let_go(bool whole);
  /// On the others, as a task: serves the root. True when it has taken the trace; false when it has not, or is lost, or
  /// does not begin within the deadline; then it is told that this locality has left. Once it has begun, it is waited
  /// for.
  bool wait_until_taken(double deadline_s);
  /// On the root: that locality has left without having been asked for its trace.
  bool left(locality_id which);

  void peer_lost(locality_id peer) override;

  // What the twins call.
  struct head;
  struct own_trace;
  void note_frozen(locality_id which);
  void note_begun();
  void note_done(bool taken);
  void note_left(locality_id which);
  std::shared_ptr<const own_trace> collected();

  /// Of all localities together: 1.5 GB.
  static constexpr std::uint64_t most_records = std::uint64_t{1} << 24;

 private:
  void wait_until_frozen(double patience_s);
  bool take(locality_id from, job_trace& into, std::uint64_t& room);

  node& node_;
  mutex lock_;
  condition_variable_any changed_;
  bool begun_ = false, done_ = false, taken_ = false;
  std::vector<bool> frozen_, was_taken_, left_;  // by locality
  std::shared_ptr<const own_trace> own_;         // who answers holds it, too
};

}  // namespace plx::net
