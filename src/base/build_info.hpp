// What this program was built from and with. Link plx::build_info (not part of plx::base, so that a new commit links
// again only the programs that print it). Thread-safe, no cost. Used by: apps/.
#pragma once

namespace plx {

/// Texts about one build.
struct build_info {
  const char* version;    // of the project, as "0.1.0"
  const char* git;        // commit, with "-dirty" for local changes; "unknown" without git
  const char* compiler;   // as "GNU 12.2.0"
  const char* type;       // Release, Debug, RelWithDebInfo
  const char* sanitize;   // "address", "thread" or ""
  const char* processor;  // as "x86_64", "aarch64"
};

/// Of the program that runs.
const build_info& this_build() noexcept;

}  // namespace plx
