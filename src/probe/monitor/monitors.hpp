// What the system says of itself and of this process in /proc: counters /system/... and /machine/...
//
// Thread safety: as counter_registry. Cost: none until somebody asks, then of reading a file of /proc.
// A file, a line or an interface that is not there means that its counters are not there.
// Example: probe/monitor/test/proc_test.cpp; the names: docs/probe.md
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

/// A thread whose events are counted apart: a worker of a runtime.
struct watched_thread {
  std::string instance;  // "locality#0/worker-thread#3"
  int thread_id = 0;     // the system's number of it, as gettid() gives
};

// All monitors at once, as the settings of a run want them.
//
// Thread safety, cost: of each monitor. Example: probe/monitor/test/monitors_test.cpp

struct monitors {
  std::vector<registration> counters;
  /// What was asked for and is not there, and why: a line each.
  std::vector<std::string> missing;
};

/// /proc and energy always; perf, PAPI and NVML if `wanted` says so. Without threads, perf and PAPI count the caller's.
[[nodiscard]] monitors add_monitors(counter_registry& registry, const settings& wanted,
                                    const std::vector<watched_thread>& threads);
/// Each line as a warning; on stderr when the log has no sink for it, since somebody asked for what is missing.
void report(const std::vector<std::string>& missing);

// Energy that processors and memory used, from Linux' powercap (RAPL on Intel and AMD): counters /system{...}/energy.
//
// The hardware's counters wrap around, within minutes on a large machine. They are read every ten seconds by the
// registry's sampling thread, and whenever somebody asks; a step back is one wrap.
// Thread safety: as counter_registry. Cost: a file of sysfs per zone. Without powercap, or without the right to read it
// (since Linux 5.10 that is root's), the counters are not there and a note says why.
// Example: probe/monitor/test/energy_test.cpp

/// /system{package-0}/energy and, within it, {package-0/core}, {package-0/dram}, ...; {total}: all packages
/// and their dram. `root` is where powercap's zones are.
[[nodiscard]] std::vector<registration> add_energy_counters(counter_registry& registry,
                                                            const std::string& root = "/sys/class/powercap",
                                                            std::vector<std::string>* notes = nullptr);

// What NVIDIA's management library says of the machine's GPUs, when it is there: it is loaded while the program runs.
//
// Counters /gpu{gpu#0}/utilization, memory-utilization, memory/used, memory/free, memory/total, power, energy,
// temperature, clock/sm, clock/memory: of the whole GPU, whoever uses it. What a GPU does not tell is left out.
// Thread safety: as counter_registry; NVML itself is thread-safe. Cost: loading it takes 10 ms and more; a question
// some microseconds to a millisecond. Example: probe/monitor/test/nvml_test.cpp

/// `library`: the file to load, "" for the system's. Without it, or without a GPU, nothing is added and a note says
/// why.
[[nodiscard]] std::vector<registration> add_nvml_counters(counter_registry& registry,
                                                          std::vector<std::string>* notes = nullptr,
                                                          const std::string& library = "");

// Events of PAPI (https://icl.utk.edu/papi), whose library is looked for while the program runs: nothing is linked, and
// no header of it is needed. PAPI knows many processors' events by name and has components beside the processor.
//
// Counters /papi{locality#0/worker-thread#N}/EVENT and /papi{locality#0/total}/EVENT. An event whose component cannot
// count single threads (energy, networks) is counted once, as /papi{process}/EVENT.
// What PAPI or the machine does not offer is left out, with a note that says why.
// Thread safety: as counter_registry; PAPI is called under one lock. Cost: a system call per thread when somebody asks.
// Example: probe/monitor/test/papi_test.cpp

/// `events`: PAPI's names separated by commas, such as "PAPI_TOT_INS,perf::PAGE-FAULTS". Without threads, the calling
/// one is counted as /papi{process}/EVENT. `library`: the file to load, "" for the system's libpapi.
[[nodiscard]] std::vector<registration> add_papi_counters(counter_registry& registry, const std::string& events,
                                                          const std::vector<watched_thread>& threads,
                                                          std::vector<std::string>* notes = nullptr,
                                                          const std::string& library = "");

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
// Example: probe/monitor/test/perf_test.cpp

/// All known events, by their names: "task-clock", "instructions", ...
std::vector<std::string> perf_event_names();

/// `events`: names separated by commas; "all" means all that the machine allows, without notes. Without threads, the
/// calling thread and those it makes from now on are counted as /perf{process}/EVENT.
[[nodiscard]] std::vector<registration> add_perf_counters(counter_registry& registry, const std::string& events,
                                                          const std::vector<watched_thread>& threads,
                                                          std::vector<std::string>* notes = nullptr);

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
