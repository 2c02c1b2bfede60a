// Version, commit, compiler and options of this build. Link plx::build_info; it is not part of plx::base, so that a new
// commit relinks only the programs that print it. Thread-safe, no cost. Used by: apps/.
#pragma once

namespace plx {

/// Description of one build.
struct build_info {
  const char* version;    // project version, such as "0.1.0"
  const char* git;        // commit, with "-dirty" for local changes; "unknown" without git
  const char* compiler;   // such as "GNU 12.2.0"
  const char* type;       // Release, Debug, RelWithDebInfo
  const char* sanitize;   // "address", "thread" or ""
  const char* processor;  // such as "x86_64", "aarch64"
};

/// The build of the running program.
const build_info& this_build() noexcept;

}  // namespace plx
