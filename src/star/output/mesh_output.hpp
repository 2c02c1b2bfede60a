// Writes the mesh file of a simulation: primitive variables of all blocks, and per block its cost, its owner and the
// owner's idle rate.
//
// Thread safety: between steps. Cost: 20 ns per cell and the disk. Example: tests/cli/test_plx_star.py
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "star/output/series/variables.hpp"

namespace plx::star {

class simulation;

/// Fractions of time without work, 0 to 1.
struct idle_rates {
  std::vector<double> workers;
  double locality = 0.0;  ///< of all its workers together
};

struct mesh_content {
  std::vector<output_variable> variables;
  bool single_precision = true;
};

/// The variables, by default rho vel1 vel2 vel3 press s0 s1 ..., in dataset "prim". Cost: seconds since the last call
/// of costs().clear(); Updates: the steps that these advanced the block by. Owner: the worker that last advanced the
/// block; IdleRate: that worker's share of time without work.
result<void> write_mesh_file(const std::string& path, simulation& sim, const mesh_content& content,
                             const idle_rates& idle);

/// The same for local blocks, with Locality and LocalityIdleRate of this locality.
result<void> write_mesh_part(const std::string& path, simulation& sim, const mesh_content& content,
                             const idle_rates& idle);
/// Writes the file that refers to the parts. Shapes: names: by locality.
result<void> write_mesh_of_parts(const std::string& path, const simulation& sim, const mesh_content& content,
                                 const std::vector<std::string>& names);

}  // namespace plx::star
