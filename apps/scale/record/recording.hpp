// Measurements of a run of plx-star's simulation by itself: its meshes, seconds of blocks and of kinds of tasks,
// seconds of its steps, messages. As JSON, for `./plx scale check`.
//
// Thread safety: the thread that made the job. Cost: of the run; between steps some us per block, not in any step's
// time. Example: python/tests/star/test_scale_check.py
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx {
class job;
}

namespace plx::scale {

struct record_request {
  std::string input;
  std::vector<std::string> sets;
  int warm = 1;        ///< segments, from one look at the mesh to the next, before those that are compared
  int segments = 2;    ///< that are compared
  bool alone = false;  ///< each process has a simulation of its own, all at the same time
};

/// Runs it, and says what was measured; on the root, "" elsewhere. Errors: wrong input, a run that ends too early, or
/// that fails.
result<std::string> record(job& j, const record_request& what);

}  // namespace plx::scale
