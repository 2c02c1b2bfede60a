// Which processors this process may use: hwloc's view of the machine cut down by cpusets, affinity and cgroup quotas.
//
// Thread safety: the machine is read once per process and is constant afterwards.
#pragma once

#include <cstdint>
#include <vector>

namespace plx::detail {

/// Logical processor numbers (as the operating system counts them), one per allowed physical core, nearest first.
const std::vector<unsigned>& allowed_cores();

/// Processors' worth of time that the cgroup grants, rounded up; the number of allowed cores when there is no quota.
unsigned cgroup_processors();

/// Workers when nobody said how many: PLX_THREADS if set (and a positive number), else one per physical core allowed,
/// at most what the cgroup grants.
unsigned default_worker_count();

/// Binds the calling thread to one processor. False where the system refuses; the thread then runs unbound.
bool bind_this_thread(unsigned processor) noexcept;

}  // namespace plx::detail
