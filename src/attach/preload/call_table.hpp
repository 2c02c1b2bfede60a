// The functions of plx_probe.h as a table that one copy of them passes to another in the same process.
//
// Thread safety: constant. Invariant: tables of one version have the same members, including the types of plx_probe.h.
// Example: tests/exec/plx_exec_test.cpp
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

}  // namespace plx::probe
