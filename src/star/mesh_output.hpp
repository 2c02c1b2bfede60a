// A mesh file of a simulation: primitive variables of all blocks, and per block its cost, its owner and how idle that
// is.
//
// Thread safety: between steps. Cost: 20 ns per cell and the disk. Example: tests/cli/test_plx_star.py
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "star/simulation.hpp"

namespace plx::star {

/// rho vel1 vel2 vel3 press s0 s1 ... in dataset "prim". Cost: seconds since the last call of costs().clear(); Updates:
/// the steps these advanced the block by. Owner: the worker that last advanced the block; IdleRate: that worker's share
/// of time without work, `idle_rate` by worker.
result<void> write_mesh_file(const std::string& path, simulation& sim, const std::vector<double>& idle_rate);

}  // namespace plx::star
