// Counters /system/... and /machine/... from /proc: values of the system and of this process.
//
// Thread safety: as counter_registry. Cost: none until a counter is read, then reading a file of /proc.
// Counters whose file, line or interface does not exist are not registered.
// Example: probe/monitor/test/proc_test.cpp; the names: docs/probe.md
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

struct perf_groups;  // perf_group.hpp

/// A thread whose events are counted separately: a worker of a runtime.
struct watched_thread {
  std::string instance;  // "locality#0/worker-thread#3"
  int thread_id = 0;     // the system's thread id, as returned by gettid()
};

// All monitors that the settings of a run enable.
//
// Thread safety, cost: those of each monitor. Example: probe/monitor/test/monitors_test.cpp

struct monitors {
  std::vector<registration> counters;
  /// Monitors that were requested but are not available, with the reason: a line each.
  std::vector<std::string> missing;
};

/// Adds counters of /proc, of processors and of energy always; perf, PAPI and NVML counters if `wanted` enables them.
/// Without threads, perf and PAPI count events of the caller. `grouped`: see add_perf_counters().
[[nodiscard]] monitors add_monitors(counter_registry& registry, const settings& wanted,
                                    const std::vector<watched_thread>& threads, const perf_groups* grouped = nullptr);
/// Logs each line as a warning; on stderr if the log has no sink for it, because the missing data was requested.
void report(const std::vector<std::string>& missing);

// Energy of processors and memory, from Linux' powercap (RAPL on Intel and AMD): counters /system{...}/energy.
//
// The hardware's counters wrap around, within minutes on a large machine. They are read every ten seconds by the
// registry's sampling thread, and whenever a counter is read; a decrease is one wrap.
// Thread safety: as counter_registry. Cost: reading a file of sysfs per zone. Without powercap, or without permission
// to read it (since Linux 5.10 only root has it), there are no counters, and a note gives the reason.
// Example: probe/monitor/test/energy_test.cpp

/// /system{package-0}/energy and, within it, {package-0/core}, {package-0/dram}, ...; {total}: all packages and their
/// dram. `root`: the folder of powercap's zones.
[[nodiscard]] std::vector<registration> add_energy_counters(counter_registry& registry,
                                                            const std::string& root = "/sys/class/powercap",
                                                            std::vector<std::string>* notes = nullptr);

// GPU values from NVIDIA's management library (NVML), which is loaded at run time if it exists.
//
// Counters /gpu{gpu#0}/utilization, memory-utilization, memory/used, memory/free, memory/total, power, energy,
// temperature, clock/sm, clock/memory: of the whole GPU, used by any program. Values that a GPU does not provide are
// omitted.
// Thread safety: as counter_registry; NVML itself is thread-safe. Cost: loading takes 10 ms or more; a query some
// microseconds to a millisecond. Example: probe/monitor/test/nvml_test.cpp

/// `library`: the file to load, "" for the system's. Without it, or without a GPU, no counters are added, and a note
/// gives the reason.
[[nodiscard]] std::vector<registration> add_nvml_counters(counter_registry& registry,
                                                          std::vector<std::string>* notes = nullptr,
                                                          const std::string& library = "");

// Events of PAPI (https://icl.utk.edu/papi), whose library is loaded at run time: nothing is linked, and its headers
// are not needed. PAPI knows events of many processors by name and has components for other hardware.
//
// Counters /papi{locality#0/worker-thread#N}/EVENT and /papi{locality#0/total}/EVENT. An event whose component cannot
// count individual threads (energy, networks) is counted once, as /papi{process}/EVENT.
// Unavailable events are omitted, with a note that gives the reason.
// Thread safety: as counter_registry; PAPI is called under one lock. Cost: a system call per thread when a counter is
// read.
// Example: probe/monitor/test/papi_test.cpp

/// `events`: PAPI's names separated by commas, such as "PAPI_TOT_INS,perf::PAGE-FAULTS". Without threads, events of the
/// calling thread are counted as /papi{process}/EVENT. `library`: the file to load, "" for the system's libpapi.
[[nodiscard]] std::vector<registration> add_papi_counters(counter_registry& registry, const std::string& events,
                                                          const std::vector<watched_thread>& threads,
                                                          std::vector<std::string>* notes = nullptr,
                                                          const std::string& library = "");

// Events that the Linux kernel counts per thread (perf_event_open): software events (context switches, page faults) and
// those of the processor (instructions, cycles, cache misses). No library is needed.
//
// Counters /perf{locality#0/worker-thread#N}/EVENT and /perf{locality#0/total}/EVENT. Counting starts here; its only
// cost for the threads is the kernel's work at a context switch. If there are more events than the processor has
// counters, the kernel multiplexes them, and values are scaled up to the whole time. Events that form quotients
// (instructions and cycles; misses and references) are counted over the same intervals if the processor has counters
// for both.
// Each event of each thread takes a file descriptor. At most the lower half of the process's limit (ulimit -n) is used,
// so that the program can still open files; events that do not fit for all threads are omitted, with a note.
// Events that the machine does not allow are omitted, with a note that gives the reason:
// /proc/sys/kernel/perf_event_paranoid, a container's rules, a virtual machine without counters.
// Thread safety: as counter_registry. Cost: a read() per thread and event when a counter is read.
// Example: probe/monitor/test/perf_test.cpp

/// The names of all known events: "task-clock", "instructions", ...
std::vector<std::string> perf_event_names();

/// `events`: names separated by commas; "all" means all that the machine allows, without notes. Without threads, events
/// of the calling thread and of threads that it creates later are counted as /perf{process}/EVENT. `grouped`: groups of
/// the same threads; counters of their events read these, and are not scaled up.
[[nodiscard]] std::vector<registration> add_perf_counters(counter_registry& registry, const std::string& events,
                                                          const std::vector<watched_thread>& threads,
                                                          std::vector<std::string>* notes = nullptr,
                                                          const perf_groups* grouped = nullptr);

/// /system/cpu/..., /system/memory/..., /system/load/..., /system{eth0}/net/..., /machine/io/..., ...: `root` is the
/// folder of /proc. Missing files are listed in `notes`, a line each.
[[nodiscard]] std::vector<registration> add_proc_counters(counter_registry& registry, const std::string& root = "/proc",
                                                          std::vector<std::string>* notes = nullptr);

// State of the processors that makes runs of one program differ, from /sys and /proc: frequencies, governors,
// throttling, temperature, and the processor time of other programs.
//
// Thread safety: as counter_registry. Cost: one file per processor that a counter is about, at most 16 for the mean
// frequency and governors; the kernel may interrupt a processor to determine its frequency. All of /proc/cpuinfo is
// read. Example: probe/monitor/test/processor_test.cpp

/// /system{cpu#N or total}/cpu/frequency, /system{GOVERNOR}/cpu/governor, /system/throttles/{core,package},
/// /system/temperature/processor, /system/cpu/others; those that the machine does not have are omitted. `sys`, `proc`:
/// the folders of /sys and /proc. `processors`: those that count; empty: those that the process may run on.
[[nodiscard]] std::vector<registration> add_processor_counters(counter_registry& registry,
                                                               const std::string& sys = "/sys",
                                                               const std::string& proc = "/proc",
                                                               const std::vector<unsigned>& processors = {});

/// Values of the system for one thread of this process.
struct thread_usage {
  double voluntary_switches = 0;    // it released its core
  double involuntary_switches = 0;  // it was preempted by another thread
  double processor_s = 0;           // time on a core
  double waiting_s = 0;             // time in which it was ready but had no core
};
/// Errors: the thread has ended, or /proc does not exist. Times are 0 on a kernel without schedstat.
result<thread_usage> usage_of_thread(int thread_id, const std::string& root = "/proc");

}  // namespace plx::probe
