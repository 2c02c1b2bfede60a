// The measurement of one run: enables what the settings request and writes the files at the end.
//
// Thread safety: functions are called by the thread that created it. Cost: that of the requested measurements.
// Errors: a file that cannot be written gives one line in the log, and the others are still written.
// Example: session/test/session_test.cpp
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/counters/periodic_thread.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

class decision_log;
class picture_board;  // probe/live/live_json.hpp
class policy_registry;
class sampler;
struct speedup_report;  // control/speedup_plan.hpp
class task_counts;      // probe/monitor/task_counts.hpp

/// How session::finish() writes.
struct session_ending {
  /// The process is about to be ended: stacks.csv has no source lines, whose search takes long.
  bool dying = false;
  /// Writes further files into the folder of the session, after its tables and before sampled stacks and pictures,
  /// which take longest.
  result<void> (*tables)(void* context) = nullptr;
  void* context = nullptr;  // of `tables`
};

class session {
 public:
  /// The recorder and the counters must outlive it.
  session(recorder& r, counter_registry& counters, settings s);
  /// Calls finish() if it was not called.
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Ends the measurement and writes the requested files; the trace has been written while the program ran. Requires:
  /// the workers have ended, or are idle, or the settings say that the measurement ends before the program. Returns the
  /// first error, and logs all of them; a second call does nothing. That of an attached session (settings::attached)
  /// also returns missing(), draws no flame.svg, and leaves the program's own use of recorder and counters as it was.
  result<void> finish(const session_ending& how = {});

  /// Instead of finish(), for an attached session: removes the trace, and writes nothing.
  void abandon() noexcept;

  /// Also writes counts by task type and, if the settings request a roofline, measures its limits in finish(). They
  /// must outlive it.
  void count_tasks(const task_counts& counts);
  /// Also writes decisions and policies. The policies must outlive finish().
  void attach(const policy_registry& policies, std::shared_ptr<const decision_log> decisions);
  /// Also prints the results of virtual speed-ups, and writes them to speedup.csv. `report` must be callable until
  /// finish() has returned.
  void attach(std::function<speedup_report()> report);
  /// Writes the requested files with the current state; finish() overwrites them.
  result<void> write_now();
  /// Ends the live page: its clients learn that the program has ended, and live.url is removed. For a session that is
  /// never destroyed. Requires: pictures() is not used afterwards.
  void end_live_page() noexcept;

  /// Why the trace or the stacks are not recorded, or were not written; "" if they are.
  [[nodiscard]] const std::string& missing() const noexcept;
  /// How an attached session differs from its settings, in one line; "" if it does not.
  [[nodiscard]] const std::string& difference() const noexcept;
  /// The settings that the session was made with.
  [[nodiscard]] const settings& asked() const noexcept;
  /// The thread of all periodic work except draining, which has its own, so that no reader, function or policy delays
  /// it.
  [[nodiscard]] periodic_thread& periodic() noexcept;
  /// Samples the stacks of the threads that it is given; null if none are to be sampled.
  [[nodiscard]] sampler* stacks() noexcept;
  /// The address of the live page for clients on this machine, with its token; "" if none is served.
  [[nodiscard]] std::string local_live_url() const;
  /// Where a simulation publishes its pictures; null if no live page is served.
  [[nodiscard]] picture_board* pictures() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
