// Signals that end the process: the files are written first, by a thread of their own, and then the process ends by the
// same signal.
//
// A signal is watched when its default action would end the process; the program sees the default action in sigaction()
// and signal(). Handlers that it sets later, and signals that are ignored from the start (nohup), stay as they are. The
// default action takes place with the original siginfo_t, at the instruction that was interrupted. The thread lives on
// an arena of malloc of its own, so a signal in the middle of malloc does not stop it; it has 5 s. Thread safety:
// watch_deaths() once. Example: tests/exec/plx_exec_test.cpp
#pragma once

namespace plx::probe {

/// Calls `write` in a thread of the measurement before a signal ends this process.
void watch_deaths(void (*write)());

}  // namespace plx::probe
