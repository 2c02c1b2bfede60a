// Signals that end the process: the files are written first, by a thread of their own, and then the process ends by the
// same signal.
//
// Only signals that nobody handles or ignores are watched, and the program does not see it: sigaction() and signal()
// say "default". The thread lives on an arena of malloc of its own, so a signal in the middle of malloc does not stop
// it; it has 5 s. Thread safety: watch_deaths() once. Example: tests/exec/plx_exec_test.cpp
#pragma once

namespace plx::probe {

/// Calls `write` in a thread of the measurement before a signal ends this process.
void watch_deaths(void (*write)());

}  // namespace plx::probe
