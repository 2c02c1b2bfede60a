// The parts of this program. Each is run by all localities as one task.
#pragma once

#include "options.hpp"

namespace plx {
class job;
}
namespace plx::bench {

void sweep_toy(job& j, const options& o);       ///< two localities; every setting, four phases
void change_toy(job& j, const options& o);      ///< two localities; one setting per phase
void sweep_rotation(job& j, const options& o);  ///< every setting, and packed
void run_phases(job& j, const options& o);      ///< dense, sparse and bursty traffic with the given settings

/// The transport alone: bytes per second if all localities send to all others. Returns the exit code. Needs no job.
int measure_carrier(const options& o);

}  // namespace plx::bench
