// The workers of the libraries, while their entries run.
#pragma once

#ifdef PLX_HAVE_TBB
#include <tbb/task_arena.h>
#endif

#include "rt/runtime.hpp"

namespace plx::bench {

/// Requires: the library "plx" is started.
runtime& plx_runtime();

/// The options of runtimes started from now on; `workers` is set by the contest. For workloads that need other options
/// than the defaults.
runtime_options& plx_options();

#ifdef PLX_HAVE_TBB
/// Requires: the library "tbb" is started.
tbb::task_arena& tbb_arena();
#endif

}  // namespace plx::bench
