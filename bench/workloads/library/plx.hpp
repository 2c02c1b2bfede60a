// The runtime of the plx entries, while the contest runs them.
#pragma once

#include "rt/runtime.hpp"

namespace plx::bench {

/// Requires: the library "plx" is started.
runtime& plx_runtime();

/// Of the runtimes that are started from now on; `workers` is filled in. For workloads that need what the defaults do
/// not give.
runtime_options& plx_options();

}  // namespace plx::bench
