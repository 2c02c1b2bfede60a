// The options of this program, from its command line, and its parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx {
class job;
}
namespace plx::bench {

struct options {
  std::string part;                              ///< toy, change, rotation, phases, repeats (the same), carrier
  std::vector<std::string> settings;             ///< as in PLX_COALESCE: "self", "128,1000"
  std::string traffic = "toy";                   ///< for phases: toy or rotation
  std::string csv;                               ///< lines are appended; empty: standard output
  std::uint64_t parcels = 500'000;               ///< calls of each locality of the toy, in four phases
  std::vector<unsigned> sizes = {64};            ///< Nc for the rotation
  std::vector<std::string> variants = {"rows"};  ///< for the rotation: rows, packed
  double phase_s = 0.1;                          ///< minimum duration of a phase
  double long_phase_s = 0;                       ///< the same for adaptive, which tunes itself; 0: phase_s
  unsigned turns = 3;
  unsigned first_turn = 0;  ///< the number of the first turn, and the seed of its order
};

/// The error is one line. Also accepts `inside` and `--json FILE`, as passed to every benchmark program.
result<options> read_options(int argc, char** argv);
const char* usage();

// The parts of this program. Each is run by all localities as one task.

void sweep_toy(job& j, const options& o);       ///< two localities; every setting, four phases
void change_toy(job& j, const options& o);      ///< two localities; one setting per phase
void sweep_rotation(job& j, const options& o);  ///< every setting, and packed
void run_phases(job& j, const options& o);      ///< dense, sparse and bursty traffic with the given settings

/// The transport alone: bytes per second if all localities send to all others. Returns the exit code. Needs no job.
int measure_carrier(const options& o);

}  // namespace plx::bench
