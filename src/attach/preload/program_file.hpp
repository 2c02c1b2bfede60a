// Conventions shared by plx-exec and its library: environment variables, and the folder of the files.
//
// Thread safety: constants; the environment must not be modified concurrently. Example: attach/preload/plx_exec.cpp
#pragma once

#include <cstdlib>
#include <string>

#include "base/result.hpp"

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

// Checks of a program before it is run.
//
// Thread safety: all functions. Example: tests/exec/plx_exec_test.cpp

/// The file of a program, found like in the shell: in PATH unless the name contains a slash. "" if there is none.
std::string find_program(const std::string& name);

/// Checks that a library can be preloaded into the program; the error gives the reason (linked statically, other
/// processor, 32 bits, set-user-id). For a script its interpreter is checked. Unreadable files are left to the system
/// to refuse.
result<void> can_be_measured(const std::string& path);

/// True if the program itself, not only one of its libraries, is linked with a library of this name ("libgomp.so.1").
bool is_linked_with(const std::string& path, const std::string& library);

}  // namespace plx::probe
