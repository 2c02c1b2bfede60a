// Tables of functions that one copy of the measurement passes to another in the same process: those of plx_probe.h from
// libplx-exec.so to a program's own copy, timers and waits of the calling thread to libplx-gomp.so, and messages to
// libplx-mpi.so.
//
// Thread safety: constant tables; their functions concern the calling thread. Invariant: tables of one version have the
// same members, including the types of plx_probe.h; a table of another version is not used.
// Example: tests/exec/plx_exec_test.cpp, tests/exec/gomp_program.c
#pragma once

#include "attach/plx_probe.h"

namespace plx::probe {

struct call_table {
  static constexpr int current = 1;

  int version;
  int (*init)();
  int (*init_arguments)(int*, char**);
  void (*finalize)();
  int (*measuring)();
  int (*write)();
  const char* (*error)();
  plx_probe_timer (*timer_named)(const char*);
  void (*start)(plx_probe_timer);
  void (*start_on)(plx_probe_timer, uint64_t);
  void (*stop)(plx_probe_timer);
  plx_probe_paused (*yield)();
  void (*resume)(plx_probe_paused);
  void (*sample)(const char*, double);
  void (*mark)(const char*);
  plx_probe_counter* (*counter_named)(const char*, const char*, const char*);
  void (*count)(plx_probe_counter*, double);
  int (*add_counter)(const char*, const char*, const char*, double (*)(void*), void*);
  void (*remove_counter)(int);
  void (*name_thread)(const char*);
  void (*name_object)(const void*, const char*);
};

/// The table of this copy.
const call_table* own_call_table() noexcept;

/// Cost of its functions: that of program::event().
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

/// A moment of the calling thread. `task`: the timer that sends; of a message that arrives, the join that represents
/// it.
struct mpi_moment {
  uint64_t when = 0;  // in ticks; 0: the thread is not measured
  uint64_t task = 0;
};

/// One end of a message. `channel` is not 0, and the same in all processes of the communicator.
struct mpi_message {
  mpi_moment at{};
  uint64_t number = 0;  // among the messages with the same sender, receiver, channel and tag, from 1 on
  uint64_t bytes = 0;
  unsigned peer = 0;   // its rank in MPI_COMM_WORLD
  unsigned timer = 0;  // of the function
  unsigned channel = 0;
  int tag = 0;
};

struct mpi_table {
  static constexpr int current = 1;

  int version;
  /// Whether this process records a trace as `rank` of `ranks`, which its file says.
  bool (*records)(unsigned rank, unsigned ranks);
  /// This moment, for a message that is sent afterwards, and for one that has arrived: the timer around the innermost
  /// one depends on it.
  mpi_moment (*leaves)();
  mpi_moment (*arrives)();
  /// Requires: records().
  void (*message)(bool sent, const mpi_message&);
  /// Counts messages that are not recorded.
  void (*lost)(uint64_t);
};

}  // namespace plx::probe

/// In libplx-exec.so. Null if this process is not measured.
extern "C" const plx::probe::gomp_table* plx_exec_gomp_calls();
extern "C" const plx::probe::mpi_table* plx_exec_mpi_calls();
