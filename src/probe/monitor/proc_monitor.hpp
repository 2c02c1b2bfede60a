// What the system says of itself and of this process in /proc: counters /system/... and /machine/...
//
// Thread safety: as counter_registry. Cost: none until somebody asks, then of reading a file of /proc.
// A file, a line or an interface that is not there means that its counters are not there.
// Example: probe/monitor/proc_test.cpp; the names: docs/probe.md
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/counter_registry.hpp"

namespace plx::probe {

/// /system/cpu/..., /system/memory/..., /system/load/..., /system{eth0}/net/..., /machine/io/..., ...: `root` is where
/// /proc is. What is not there is said in `notes`, a line each.
[[nodiscard]] std::vector<registration> add_proc_counters(counter_registry& registry, const std::string& root = "/proc",
                                                          std::vector<std::string>* notes = nullptr);

/// What the system knows of one thread of this process.
struct thread_usage {
  double voluntary_switches = 0;    // it gave its core away
  double involuntary_switches = 0;  // it lost its core to another
  double processor_s = 0;           // time on a core
  double waiting_s = 0;             // time in which it could have run, had there been a free core
};
/// Errors: the thread has ended, or there is no /proc. Times are 0 on a kernel without schedstat.
result<thread_usage> usage_of_thread(int thread_id, const std::string& root = "/proc");

}  // namespace plx::probe
