// How a runtime is made. A plain struct: set what differs from the defaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plx {

struct runtime_options {
  /// Worker threads; 0 means the environment variable PLX_THREADS, or one per physical core that this process may use
  /// (cpusets, affinity, cgroup quotas and Slurm's share are obeyed). More than cores is allowed.
  unsigned workers = 0;
  /// The cores for the workers: processors and ranges as in taskset ("0-3,8"), or "core:0-3", "socket:0", "numa:1";
  /// empty means the environment variable PLX_CORES, or all that this process may use. Several runtimes in one process
  /// can have different ones.
  std::string cores{};
  /// Binds each worker to a core when there are as many workers as cores; otherwise, when `cores` were named, all
  /// workers to all of them. PLX_BIND=0 in the environment switches it off.
  bool bind = true;
  /// Virtual memory of each stack; memory is used only for the pages that are touched.
  std::size_t stack_bytes = std::size_t{256} << 10;
  /// One thread, `workers` virtual workers, and a seed that decides at every choice: the same seed, the same schedule.
  bool deterministic = false;
  std::uint64_t seed = 1;
  /// How long the destructor waits, in seconds, for tasks that nothing inside the runtime can wake any more.
  double shutdown_deadline_s = 5;
};

}  // namespace plx
