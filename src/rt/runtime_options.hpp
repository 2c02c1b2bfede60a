// How a runtime is made. A plain struct: set what differs from the defaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace plx {

// What a poller answers.

/// Nothing outstanding; something outstanding; something completed just now.
enum class poll_result : std::uint8_t { idle, pending, progressed };

namespace probe {
struct settings;
}
namespace detail {
class conductor;
}

struct runtime_options {
  /// Worker threads; 0 means the environment variable PLX_THREADS, or one per physical core that this process may use
  /// (cpusets, affinity, cgroup quotas and Slurm's share are obeyed). More than cores is allowed.
  unsigned workers = 0;
  /// The cores for the workers: processors and ranges as in taskset ("0-3,8"), or "core:0-3", "socket:0", "numa:1";
  /// empty means the environment variable PLX_CORES, or all that this process may use. Several runtimes in one process
  /// can have different ones.
  std::string cores{};
  /// Binds each worker to a core when `cores` were named, or when this process was given only some of the machine's
  /// (taskset, Slurm, cpuset) and there are as many workers as cores; with `cores` and another number of workers, all
  /// workers to all of them. PLX_BIND in the environment: 0 never binds, 1 also when the whole machine may be used.
  bool bind = true;
  /// Virtual memory of each stack, besides its guard; memory is used only for the pages that are touched. A task that
  /// runs in the frame of the task that waits for it has at least a quarter of this.
  std::size_t stack_bytes = std::size_t{256} << 10;
  /// 64 KiB of inaccessible memory below each stack, as long as the kernel's map entries allow (vm.max_map_count): an
  /// overflow ends the program at once. Code with frames larger than that needs -fstack-clash-protection, which the
  /// target plx::rt and pkg-config pass on. Without guards, a few words below the stack are checked whenever the task
  /// waits or ends.
  bool guard_pages = true;
  /// So many stacks without a task keep the pages that they touched; what more there are give theirs back.
  std::size_t warm_stacks = 4096;
  /// A stack that overflows into its guard says so, with the task's name, before the program ends as it would: by a
  /// handler of SIGSEGV that hands everything else on to the one before it. Not under AddressSanitizer, which does the
  /// same.
  bool explain_overflow = true;
  /// One thread, `workers` virtual workers, and a seed that decides at every choice: the same seed, the same schedule.
  bool deterministic = false;
  std::uint64_t seed = 1;
  /// Of a deterministic runtime that is one of several in a simulation: who decides when it goes on
  /// (rt/core/deterministic.hpp, made by net/simulation.hpp). Must outlive the runtime.
  detail::conductor* conducted_by = nullptr;
  /// How long the destructor waits, in seconds, for tasks that nothing inside the runtime can wake any more, and for
  /// pollers that answer `pending` when nothing else is left to do.
  double shutdown_deadline_s = 5;
  /// When run() waits and the runtime has had nothing to do for so long although tasks are suspended, who waits on what
  /// is logged, as warnings, once. 0: never. PLX_REPORT_HANG=seconds in the environment goes before, and then it is
  /// printed on stderr if the log has no sink.
  double report_hang_after_s = 60;
  /// A signal upon which all runtimes of the process explain who waits on what, in the log or, if that has no sink, on
  /// stderr; 0: none. The handler is there while such a runtime is. PLX_EXPLAIN_SIGNAL=QUIT in the environment sets it
  /// for a program that does not.
  int explain_signal = 0;
  /// Its number among the processes of a job: what "locality#N" in names of counters says (net/job.hpp sets it).
  unsigned locality = 0;
  /// What is measured and where it goes (probe/settings.hpp); null means what the environment says (PLX_TRACE=otf2,
  /// ...).
  std::shared_ptr<const probe::settings> measure{};
};

/// For main(): options from the program's arguments. Takes all "--plx:key=value" out of argv, such as --plx:threads=4,
/// --plx:trace=json (docs/probe.md lists them). A wrong option ends the program: one line on stderr with the nearest
/// option, exit code 2.
[[nodiscard]] runtime_options options_from_arguments(int& argc, char** argv);
/// The same for programs that handle errors themselves: a wrong option is an error of one line.
[[nodiscard]] result<runtime_options> read_options(int& argc, char** argv);

}  // namespace plx
