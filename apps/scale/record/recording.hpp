// Measurements of a run of plx-star's simulation: its meshes, seconds of blocks and of task types, seconds of its
// steps, messages. As JSON, for `./plx scale check`.
//
// Thread safety: called by the thread that created the job. Cost: that of the run; between steps some us per block, not
// included in any step's time. Example: python/tests/star/test_scale_check.py
#pragma once

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
  int warm = 1;        ///< segments, from one regrid check to the next, before the compared ones
  int segments = 2;    ///< compared segments
  bool alone = false;  ///< each process has a simulation of its own, all at the same time
};

/// Runs the simulation and returns the measurements, on the root; "" elsewhere. Errors: invalid input, a run that ends
/// too early or fails.
result<std::string> record(job& j, const record_request& what);

}  // namespace plx::scale
