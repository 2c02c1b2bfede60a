// The measurement of one run: enables what the settings request and writes the files at the end.
//
// Thread safety: functions are called by the thread that created it. Cost: that of the requested measurements.
// Errors: a file that cannot be written gives one line in the log, and the others are still written.
// Example: session/test/session_test.cpp
#pragma once

#include <memory>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/counters/periodic_thread.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

class decision_log;
class picture_board;  // probe/live/live_json.hpp
class policy_registry;

class session {
 public:
  /// The recorder and the counters must outlive it.
  session(recorder& r, counter_registry& counters, settings s);
  /// Calls finish() if it was not called.
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Ends the measurement and writes the requested files; the trace has been written while the program ran. Requires:
  /// the workers have ended, or are idle. Returns the first error, and logs all of them; a second call does nothing.
  result<void> finish();

  /// Also writes decisions and policies. The policies must outlive finish().
  void attach(const policy_registry& policies, std::shared_ptr<const decision_log> decisions);
  /// Writes the requested files with the current state; finish() overwrites them.
  result<void> write_now();
  /// Ends the live page: its clients learn that the program has ended, and live.url is removed. For a session that is
  /// never destroyed. Requires: pictures() is not used afterwards.
  void end_live_page() noexcept;

  /// The settings that the session was made with.
  [[nodiscard]] const settings& asked() const noexcept;
  /// The thread of all periodic work except draining, which has its own, so that no reader, function or policy delays
  /// it.
  [[nodiscard]] periodic_thread& periodic() noexcept;
  /// Where a simulation publishes its pictures; null if no live page is served.
  [[nodiscard]] picture_board* pictures() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
