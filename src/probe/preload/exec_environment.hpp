// How plx-exec tells its library what to do: variables of the environment.
//
// Thread safety: constants. Example: probe/preload/plx_exec.cpp
#pragma once

namespace plx::probe {

inline constexpr const char* exec_process = "PLX_EXEC_PROCESS";      // the id of the process that is measured
inline constexpr const char* exec_arguments = "PLX_EXEC_ARGUMENTS";  // --plx:key=value, separated
inline constexpr const char* exec_follow = "PLX_EXEC_FOLLOW";        // 1: programs that it starts, too
inline constexpr const char* exec_quiet = "PLX_EXEC_QUIET";          // 1: says nothing at the end
inline constexpr char exec_separator = '\x1f';

}  // namespace plx::probe
