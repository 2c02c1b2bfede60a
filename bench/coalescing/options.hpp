// What this program is asked to do, from its command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx::bench {

struct options {
  std::string part;                              ///< toy, change, rotation, phases, finals (the same), carrier
  std::vector<std::string> settings;             ///< as PLX_COALESCE has them: "self", "128,1000"
  std::string traffic = "toy";                   ///< of phases: toy or rotation
  std::string csv;                               ///< lines are appended; empty: standard output
  std::uint64_t parcels = 500'000;               ///< calls of each locality of the toy, in four phases
  std::vector<unsigned> sizes = {64};            ///< Nc of the rotation
  std::vector<std::string> variants = {"rows"};  ///< of the rotation: rows, packed
  double phase_s = 0.1;                          ///< of phases: how long each lasts at least
  double long_phase_s = 0;                       ///< the same for adaptive, which finds its numbers itself; 0: phase_s
  unsigned turns = 3;
  unsigned first_turn = 0;  ///< the number of the first turn, and the seed of its order
};

/// One line names what is wrong. Takes `inside` and `--json FILE` for what a benchmark program is given besides.
result<options> read_options(int argc, char** argv);
const char* usage();

}  // namespace plx::bench
