// What libplx-exec.so offers to libplx-gomp.so: timers and waits of the calling thread, as a table of functions.
//
// Thread safety: each function is about the calling thread. Cost: as of program::event(). The two libraries are built
// and installed together; the version guards against a mixture. Example: tests/exec/gomp_program.c
#pragma once

namespace plx::probe {

struct gomp_table {
  static constexpr int current = 1;

  int version;
  /// Whether anything is measured, and the OpenMP runtime does not report by itself (OMPT).
  bool (*measures)();
  /// The timer "omp WHAT in F", where F is the function that the outlined function `code` was made of. `what` is
  /// "parallel" or "task". Looked up once per address.
  unsigned (*timer)(const char* what, const void* code);
  void (*start)(unsigned timer);
  void (*stop)(unsigned timer);
  /// The thread begins to wait. False when it waits already: then end_wait() must not be called.
  bool (*begin_wait)();
  /// The thread waited for `object`, which is an address in the code or of a lock. Less than `least_s` is no wait.
  /// `caller` is the address that the call returns to.
  void (*end_wait)(const char* kind, const void* object, const void* caller, double least_s);
};

}  // namespace plx::probe

/// In libplx-exec.so. Null when there is no measurement in this process.
extern "C" const plx::probe::gomp_table* plx_exec_gomp_calls();
