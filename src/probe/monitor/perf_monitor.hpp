// Events that the Linux kernel counts per thread, by perf_event_open: software ones (context switches, page faults) and
// the processor's (instructions, cycles, cache misses). No library is needed.
//
// Counters /perf{locality#0/worker-thread#N}/EVENT and /perf{locality#0/total}/EVENT. Counting begins here and costs
// the threads nothing but what the kernel does at a context switch. When there are more events than the processor has
// counters, the kernel counts them in turns, and values are scaled up to the whole time. Events of which quotients are
// made (instructions and cycles; misses and references) are counted over the same intervals where the processor has
// room for both.
// Each event of each thread takes a file descriptor. At most the lower half of what the process may open (ulimit -n) is
// used, so that the program finds descriptors; events for which there is no room on all threads are left out, with a
// note.
// What the machine does not allow is left out, with a note that says why: /proc/sys/kernel/perf_event_paranoid, a
// container's rules, a virtual machine without counters.
// Thread safety: as counter_registry. Cost: a read() per thread and event when somebody asks.
// Example: probe/monitor/perf_test.cpp
#pragma once

#include <string>
#include <vector>

#include "probe/counter_registry.hpp"
#include "probe/monitor/watched_thread.hpp"

namespace plx::probe {

/// All known events, by their names: "task-clock", "instructions", ...
std::vector<std::string> perf_event_names();

/// `events`: names separated by commas; "all" means all that the machine allows, without notes. Without threads, the
/// calling thread and those it makes from now on are counted as /perf{process}/EVENT.
[[nodiscard]] std::vector<registration> add_perf_counters(counter_registry& registry, const std::string& events,
                                                          const std::vector<watched_thread>& threads,
                                                          std::vector<std::string>* notes = nullptr);

}  // namespace plx::probe
