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

}  // namespace plx::probe
