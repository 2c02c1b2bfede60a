// The runtime of the plx entries, while they run.
#pragma once

#include "rt/runtime.hpp"

namespace plx::bench {

/// Requires: the library "plx" is started.
runtime& plx_runtime();

/// The options of runtimes started from now on; `workers` is set by the contest. For workloads that need other options
/// than the defaults.
runtime_options& plx_options();

}  // namespace plx::bench
