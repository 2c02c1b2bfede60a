// Inputs of the benchmarks of self-gravity, for workers (bench/gravity.cpp) and devices (bench/gpu/gravity.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gas_workload.hpp"

namespace plx::bench {

/// A star in a box of roots^3 blocks, refined to `level` in the inner part of the star. `gravity`: options of
/// [gravity]; empty: no gravity.
inline std::unique_ptr<star::input> star_in_a_box(int roots, int level, const std::vector<std::string>& gravity) {
  const std::string r = std::to_string(roots), l = std::to_string(level);
  std::vector<std::string> sets{"mesh.root_blocks=[" + r + "," + r + "," + r + "]",
                                "mesh.max_level=" + l,
                                "mesh.lower=[-2,-2,-2]",
                                "mesh.upper=[2,2,2]",
                                "polytrope.atmosphere=1e-6",
                                "polytrope.radius=1",
                                "refinement.gradient_of=[]",
                                std::string("gravity.self=") + (gravity.empty() ? "false" : "true"),
                                "refinement.regions=[-0.9,0.9,-0.9,0.9,-0.9,0.9," + l + "]"};
  sets.insert(sets.end(), gravity.begin(), gravity.end());
  return input_of("[problem]\nname = \"polytrope\"\n[hydro]\ngamma = 1.6666666666666667\n", sets);
}

/// The star of inputs/stars/rotating_star.toml on `levels` levels above a root grid of 4^3 blocks, refined where it is
/// denser than its atmosphere. Its model has at most three levels; the mesh of the run interpolates it.
inline std::unique_ptr<star::input> rotating_star(int levels, const std::vector<std::string>& gravity) {
  const std::string l = std::to_string(levels);
  std::vector<std::string> sets{"mesh.max_level=" + l,
                                "rotating_star.level=" + std::to_string(levels < 2 ? levels : 2)};
  sets.insert(sets.end(), gravity.begin(), gravity.end());
  return input_of(R"([problem]
name = "rotating_star"
[rotating_star]
mass = 1.0
radius = 1.0
axis_ratio = 0.8
index = 1.5
atmosphere = 1e-6
tolerance = 1e-4
[gravity]
self = true
constant = 1.0
[mesh]
root_blocks = [4, 4, 4]
lower = [-1.86, -1.86, -1.86]
upper = [1.86, 1.86, 1.86]
[hydro]
gamma = 1.6666666666666667
density_floor = 1e-8
pressure_floor = 1e-11
[refinement]
gradient_of = []
density_levels = [1e-4, 1e-4, 1e-4, 1e-4]
)",
                  sets);
}

}  // namespace plx::bench
