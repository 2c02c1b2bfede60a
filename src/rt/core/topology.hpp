// The CPUs this process may use: hwloc's view of the machine, restricted by cpusets, affinity and cgroup quotas.
//
// Thread safety: the machine is read once per process and is constant afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plx::detail {

/// Logical CPU numbers (as the operating system counts them), one per allowed physical core, nearest first.
const std::vector<unsigned>& allowed_cores();

/// True when this process may use only some of the machine's CPUs: they were assigned to it.
bool processors_were_given();

/// CPU time that the cgroup grants, in CPUs, rounded up; the number of allowed cores when there is no quota.
unsigned cgroup_processors();

inline constexpr unsigned most_workers = 4096;

/// The default number of workers: PLX_THREADS if set, otherwise one for each of `cores`, limited by the cgroup's quota
/// and by Slurm's allocation to this task (SLURM_CPUS_PER_TASK). Throws std::invalid_argument when PLX_THREADS is not a
/// positive number.
unsigned default_worker_count(std::size_t cores);

/// The CPUs that `text` names: a comma-separated list of CPUs (3), ranges (0-7), and logical cores, sockets and NUMA
/// nodes (core:0-3, socket:1, numa:0), each of which gives one CPU per core; "all": allowed_cores(). Throws
/// std::invalid_argument for other text, or for CPUs that this process may not use.
std::vector<unsigned> processors_named(std::string_view text);

/// The distance between two CPUs: 0 for the same core; larger the higher the part of the machine that holds both.
unsigned processor_distance(unsigned a, unsigned b) noexcept;

/// "processor 3 (core 1, NUMA node 0)"
std::string describe_processor(unsigned processor);

/// Binds the calling thread to these CPUs. False if the operating system refuses; the thread then runs unbound.
bool bind_this_thread(const std::vector<unsigned>& processors) noexcept;

}  // namespace plx::detail
