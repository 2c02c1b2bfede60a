// The runtime of the plx entries, while the contest runs them.
#pragma once

#include "rt/runtime.hpp"

namespace plx::bench {

/// Requires: the library "plx" is started.
runtime& plx_runtime();

}  // namespace plx::bench
