// The measurement of one run: it switches on what the settings ask for, keeps it going, and writes the files at the
// end.
//
// Thread safety: of the thread that made it. Cost: of what was asked for; nothing otherwise.
// Errors: a file that cannot be written is one line in the log, and the others are still written.
// Example: session/test/session_test.cpp
#pragma once

#include <memory>

#include "base/result.hpp"
#include "probe/counters/beat.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

class decision_log;
class picture_board;  // probe/live/live_json.hpp
class policy_registry;
struct job_trace_data;  // probe/record/trace_data.hpp

class session {
 public:
  /// What it is given must outlive it.
  session(recorder& r, counter_registry& counters, settings s);
  /// finish(), if nobody called it.
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Ends the measurement and writes what was asked for. Requires: the workers have ended, or are idle. Gives the first
  /// error, all go to the log; a second call does nothing.
  result<void> finish();

  /// What was decided is written, too. The policies must outlive finish().
  void attach(const policy_registry& policies, std::shared_ptr<const decision_log> decisions);
  /// The files of tasks are made of this instead of what was recorded here: the trace of a whole job, of which this
  /// process is the root.
  void write_trace(job_trace_data whole);
  /// No files are made of the trace: somebody else does it.
  void leave_trace();
  /// Writes what was asked for as it is now, and goes on; finish() will write it again.
  result<void> write_now();

  /// The settings.
  [[nodiscard]] const settings& asked() const noexcept;
  /// The thread of everything periodic but draining, which has its own: no reader, function or policy delays it.
  [[nodiscard]] beat& periodic() noexcept;
  /// Where a simulation shows itself; null while no live page is served.
  [[nodiscard]] picture_board* pictures() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
