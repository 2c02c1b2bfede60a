// Which processors this process may use: hwloc's view of the machine cut down by cpusets, affinity and cgroup quotas.
//
// Thread safety: the machine is read once per process and is constant afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plx::detail {

/// Logical processor numbers (as the operating system counts them), one per allowed physical core, nearest first.
const std::vector<unsigned>& allowed_cores();

/// True when this process may use only some of the machine's processors: somebody meant these for it.
bool processors_were_given();

/// Processors' worth of time that the cgroup grants, rounded up; the number of allowed cores when there is no quota.
unsigned cgroup_processors();

inline constexpr unsigned most_workers = 4096;

/// Workers when nobody said how many: PLX_THREADS if set, else one for each of `cores`, at most what the cgroup grants
/// and what Slurm gave to this task (SLURM_CPUS_PER_TASK). Throws std::invalid_argument when PLX_THREADS is no positive
/// number.
unsigned default_worker_count(std::size_t cores);

/// The processors that `text` names: a list with commas of processors (3), ranges (0-7), and logical cores, sockets and
/// NUMA nodes (core:0-3, socket:1, numa:0), each of which gives one processor per core; "all": allowed_cores().
/// Throws std::invalid_argument when it says something else, or something that this process may not use.
std::vector<unsigned> processors_named(std::string_view text);

/// How far apart two processors are: 0 for the same core; larger the higher the part of the machine that holds both.
unsigned processor_distance(unsigned a, unsigned b) noexcept;

/// "processor 3 (core 1, NUMA node 0)"
std::string describe_processor(unsigned processor);

/// Binds the calling thread to these processors. False where the system refuses; the thread then runs unbound.
bool bind_this_thread(const std::vector<unsigned>& processors) noexcept;

}  // namespace plx::detail
