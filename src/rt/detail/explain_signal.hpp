// The signal upon which the process explains who waits on what.
//
// Thread safety: everything. Cost: a thread that sleeps until the signal comes. The handler only posts a semaphore.
// Example: hang_test.cpp.
#pragma once

#include <string_view>

namespace plx::detail {

/// "QUIT", "SIGUSR1" or "10"; throws std::invalid_argument for what is none.
int signal_named(std::string_view name);

/// While one lives, `signal` makes a thread print explain_all_waits(). 0: nothing. Several may want the same signal;
/// the action that was there before the first one is put back after the last.
class explain_signal {
 public:
  explicit explain_signal(int signal);
  ~explain_signal();
  explain_signal(const explain_signal&) = delete;
  explain_signal& operator=(const explain_signal&) = delete;

 private:
  int signal_;
};

}  // namespace plx::detail
