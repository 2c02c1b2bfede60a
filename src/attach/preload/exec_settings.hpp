// Conventions shared by plx-exec and its library: environment variables, and the folder of the files.
//
// Thread safety: constants; the environment must not be modified concurrently. Example: attach/preload/plx_exec.cpp
#pragma once

#include <cstdlib>
#include <string>

namespace plx::probe {

inline constexpr const char* exec_process = "PLX_EXEC_PROCESS";      // the id of the process that is measured
inline constexpr const char* exec_arguments = "PLX_EXEC_ARGUMENTS";  // --plx:key=value, separated
inline constexpr const char* exec_follow = "PLX_EXEC_FOLLOW";        // 1: also measure programs that it starts
inline constexpr const char* exec_mpi = "PLX_EXEC_MPI";              // 1: MPI calls are measured
inline constexpr const char* exec_quiet = "PLX_EXEC_QUIET";          // 1: print nothing at the end
inline constexpr char exec_separator = '\x1f';

/// The environment variables of launchers: this process's rank, and the number of processes.
struct launcher_variables {
  const char *rank, *ranks;
};
inline constexpr launcher_variables launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                   {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                                                   {"PMI_RANK", "PMI_SIZE"},
                                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

/// Those of the launcher whose rank this process has; null if there is none.
inline const launcher_variables* launcher() {
  for (const launcher_variables& l : launchers)
    if (const char* rank = std::getenv(l.rank); rank != nullptr && *rank != '\0') return &l;
  return nullptr;
}

/// The output folder of this process: each rank of an MPI program has its own within `folder`.
inline std::string folder_of_rank(const std::string& folder) {
  const launcher_variables* l = launcher();
  return l != nullptr ? folder + "/rank-" + std::getenv(l->rank) : folder;
}

/// This process among those that mpirun started together, with the rank of folder_of_rank(). Returns false and changes
/// nothing if the environment does not contain both numbers.
inline bool place_in_job(unsigned& rank, unsigned& ranks) {
  const launcher_variables* l = launcher();
  const char* all = l != nullptr ? std::getenv(l->ranks) : nullptr;
  if (all == nullptr) return false;
  const unsigned long r = std::strtoul(std::getenv(l->rank), nullptr, 10), n = std::strtoul(all, nullptr, 10);
  if (r >= n || n > ~0u) return false;
  rank = static_cast<unsigned>(r), ranks = static_cast<unsigned>(n);
  return true;
}

}  // namespace plx::probe
