// The options of this program, from its command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx::bench {

struct options {
  std::string part;                              ///< toy, change, rotation, phases, finals (the same), carrier
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

}  // namespace plx::bench
