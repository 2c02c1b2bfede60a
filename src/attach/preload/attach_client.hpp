// plx-exec --attach: measures a process with a runtime that was started without measurement
// (session/attach_server.hpp).
//
// Thread safety: one thread, which handles SIGINT, SIGTERM and SIGHUP from then on. Errors: one line on stderr.
// Example: tests/exec/test_attach.py
#pragma once

#include <string>
#include <vector>

namespace plx::probe {

struct attachment {
  int process = 0;
  std::vector<std::string> arguments;  // --plx:key=value, with an absolute output
  std::string folder;                  // the output
  double duration_s = 0;               // 0: until a signal, or the end of the process
  bool quiet = false;
};

/// Requests the measurement and waits for its end. Returns the exit code: 0 if its files were written, 1 if the process
/// was killed before or could not write them, 125 if it cannot be measured.
int measure_process(const attachment& a);

/// Why the process cannot be measured by this user; "" if there is no reason.
std::string why_not_ours(int process);

}  // namespace plx::probe
