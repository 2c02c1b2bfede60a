// Measured costs of tasks and messages on this machine, for `./plx scale`.
//
// Thread safety: called by the thread that created the job. Cost: about a second. Example:
// python/tests/star/test_scale_check.py
#pragma once

#include <string>

namespace plx {
class job;
}

namespace plx::scale {

/// As JSON, on the root; "" elsewhere. A job of one process measures tasks, one of several also messages between 0 and
/// 1, and the time for all processes to agree.
std::string measure_costs(job& j);

}  // namespace plx::scale
