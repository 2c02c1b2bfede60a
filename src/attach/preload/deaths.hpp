// Signals that end the process: the files are written first, by a separate thread, and then the process ends by the
// same signal.
//
// A signal is handled if its default action would end the process; sigaction() and signal() still report the default
// action to the program. Handlers that the program sets, and signals ignored from the start (nohup), are unchanged. The
// default action is executed with the original siginfo_t, at the interrupted instruction. The thread uses a malloc
// arena of its own, so a signal within malloc does not block it; its time limit is 5 s. Thread safety: watch_deaths()
// is called once.
// Example: tests/exec/plx_exec_test.cpp
#pragma once

namespace plx::probe {

/// Calls `write` in a thread of the measurement before a signal ends this process.
void watch_deaths(void (*write)());

}  // namespace plx::probe
