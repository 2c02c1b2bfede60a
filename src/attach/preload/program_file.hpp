// What plx-exec and its library agree on: variables of the environment, and the folder of the files.
//
// Thread safety: constants; the environment must not change meanwhile. Example: attach/preload/plx_exec.cpp
#pragma once

#include <cstdlib>
#include <string>

#include "base/result.hpp"

namespace plx::probe {

inline constexpr const char* exec_process = "PLX_EXEC_PROCESS";      // the id of the process that is measured
inline constexpr const char* exec_arguments = "PLX_EXEC_ARGUMENTS";  // --plx:key=value, separated
inline constexpr const char* exec_follow = "PLX_EXEC_FOLLOW";        // 1: programs that it starts, too
inline constexpr const char* exec_quiet = "PLX_EXEC_QUIET";          // 1: says nothing at the end
inline constexpr char exec_separator = '\x1f';

/// The folder that this process writes: each rank of an MPI program has its own within `folder`.
inline std::string folder_of_rank(const std::string& folder) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name); rank != nullptr && *rank != '\0') return folder + "/rank-" + rank;
  return folder;
}

// What plx-exec must know of a program before it runs it.
//
// Thread safety: everything. Example: tests/exec/plx_exec_test.cpp

/// The file of a program, as the shell finds it: in PATH unless the name has a slash. "" when there is none.
std::string find_program(const std::string& name);

/// Whether a library can be preloaded: an error says why not (linked statically, for another processor, 32 bits,
/// set-user-id). Of a script its interpreter counts. What cannot be read is left to the system to refuse.
result<void> can_be_measured(const std::string& path);

/// Whether the program itself, not only a library of it, is linked with a library of this name ("libgomp.so.1").
bool is_linked_with(const std::string& path, const std::string& library);

}  // namespace plx::probe
