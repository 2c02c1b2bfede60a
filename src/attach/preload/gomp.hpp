// The interface of libplx-exec.so for libplx-gomp.so: timers and waits of the calling thread, as a table of functions.
//
// Thread safety: each function concerns the calling thread. Cost: that of program::event(). The two libraries are built
// and installed together; the version guards against mismatches. Example: tests/exec/gomp_program.c
#pragma once

namespace plx::probe {

struct gomp_table {
  static constexpr int current = 1;

  int version;
  /// True while measuring, unless the OpenMP runtime reports its own events (OMPT).
  bool (*measures)();
  /// The timer "omp WHAT in F", where F is the function that the outlined function `code` was generated from. `what` is
  /// "parallel" or "task". Cached by address.
  unsigned (*timer)(const char* what, const void* code);
  void (*start)(unsigned timer);
  void (*stop)(unsigned timer);
  /// The thread begins to wait. False if it already waits; then end_wait() must not be called.
  bool (*begin_wait)();
  /// The thread waited for `object`, an address in code or of a lock. Waits shorter than `least_s` are discarded.
  /// `caller` is the return address of the call.
  void (*end_wait)(const char* kind, const void* object, const void* caller, double least_s);
};

}  // namespace plx::probe

/// In libplx-exec.so. Null if this process is not measured.
extern "C" const plx::probe::gomp_table* plx_exec_gomp_calls();
