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
inline constexpr const char* exec_quiet = "PLX_EXEC_QUIET";          // 1: print nothing at the end
inline constexpr char exec_separator = '\x1f';

/// The output folder of this process: each rank of an MPI program has its own within `folder`.
inline std::string folder_of_rank(const std::string& folder) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name); rank != nullptr && *rank != '\0') return folder + "/rank-" + rank;
  return folder;
}

/// This process among those that mpirun started together; false if the environment does not contain both numbers.
inline bool place_in_job(unsigned& rank, unsigned& ranks) {
  constexpr const char* names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                      {"PMI_RANK", "PMI_SIZE"},
                                      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [own, all] : names) {
    const char *n = std::getenv(own), *of = std::getenv(all);
    if (n == nullptr || of == nullptr) continue;
    rank = static_cast<unsigned>(std::strtoul(n, nullptr, 10));
    ranks = static_cast<unsigned>(std::strtoul(of, nullptr, 10));
    return rank < ranks;
  }
  return false;
}

}  // namespace plx::probe
