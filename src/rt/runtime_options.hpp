// The options of a runtime: a plain struct; set what differs from the defaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace plx {

// The result of a poller.

/// No operation outstanding; an operation outstanding; an operation completed since the last call.
enum class poll_result : std::uint8_t { idle, pending, progressed };

namespace probe {
struct settings;
}
namespace detail {
class conductor;
}

struct runtime_options {
  /// Worker threads; 0 means the environment variable PLX_THREADS, or one per physical core available to this process
  /// (cpusets, affinity, cgroup quotas and Slurm's share are respected). May exceed the number of cores.
  unsigned workers = 0;
  /// The cores for the workers: processors and ranges as in taskset ("0-3,8"), or "core:0-3", "socket:0", "numa:1";
  /// empty means the environment variable PLX_CORES, or all cores available to this process. Several runtimes in one
  /// process can use different cores.
  std::string cores{};
  /// Binds each worker to a core if `cores` is set, or if only part of the machine is available to this process
  /// (taskset, Slurm, cpuset), and there are as many workers as cores. If `cores` is set and the numbers differ, all
  /// workers are bound to the whole set. The environment variable PLX_BIND: 0 never binds, 1 also binds on a whole
  /// machine.
  bool bind = true;
  /// Virtual memory of each stack, excluding its guard; only the pages that are touched use memory. A task that runs
  /// inline in the frame of its waiter has at least a quarter of this available.
  std::size_t stack_bytes = std::size_t{256} << 10;
  /// 64 KiB of inaccessible memory below each stack, as long as the kernel's limit on map entries (vm.max_map_count)
  /// permits: an overflow ends the program immediately. Code with larger frames needs -fstack-clash-protection, which
  /// the target plx::rt and pkg-config pass on. Without guards, a few words below the stack are checked whenever the
  /// task waits or ends.
  bool guard_pages = true;
  /// The number of unused stacks that keep the pages they have touched; further ones return theirs to the system.
  std::size_t warm_stacks = 4096;
  /// Reports a stack overflow into a guard, with the name of the task, before the program ends: installs a SIGSEGV
  /// handler that passes all other faults to the previous handler. Not used under AddressSanitizer, which does the
  /// same.
  bool explain_overflow = true;
  /// One thread, `workers` virtual workers, and a seed that decides every choice: the same seed gives the same
  /// schedule.
  bool deterministic = false;
  std::uint64_t seed = 1;
  /// For a deterministic runtime that is one of several in a simulation: decides when it continues
  /// (rt/core/deterministic.hpp, created by net/simulation.hpp). Must outlive the runtime.
  detail::conductor* conducted_by = nullptr;
  /// How long the destructor waits, in seconds, for tasks that nothing inside the runtime can wake any more, and for
  /// pollers that return `pending` when no other work is left.
  double shutdown_deadline_s = 5;
  /// If run() waits and the runtime has been idle for this long although tasks are suspended, what each of them waits
  /// for is logged once, as warnings. 0: never. The environment variable PLX_REPORT_HANG=seconds takes precedence, and
  /// then the report goes to stderr if the log has no sink.
  double report_hang_after_s = 60;
  /// A signal upon which all runtimes of the process report what their suspended tasks wait for, in the log or, if that
  /// has no sink, on stderr; 0: none. The handler is installed while such a runtime exists. The environment variable
  /// PLX_EXPLAIN_SIGNAL=QUIT sets it for a program that does not.
  int explain_signal = 0;
  /// The index of this process within a job: the N of "locality#N" in counter names (set by net/job.hpp).
  unsigned locality = 0;
  /// The measurements, and the folder that they are written to (probe/settings.hpp); null: taken from the environment
  /// (PLX_TRACE=1, ...).
  std::shared_ptr<const probe::settings> measure{};
};

/// For main(): reads the options from the program's arguments and removes all "--plx:key=value" from argv, such as
/// --plx:threads=4, --plx:trace (docs/probe.md lists them). An invalid option ends the program: one line on stderr
/// with the nearest option, exit code 2.
[[nodiscard]] runtime_options options_from_arguments(int& argc, char** argv);
/// As above, for programs that handle errors themselves: an invalid option gives an error of one line.
[[nodiscard]] result<runtime_options> read_options(int& argc, char** argv);

}  // namespace plx
