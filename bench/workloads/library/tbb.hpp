// The arena of the tbb entries, while they run.
#pragma once

#include <tbb/task_arena.h>

namespace plx::bench {

/// Requires: the library "tbb" is started.
tbb::task_arena& tbb_arena();

}  // namespace plx::bench
