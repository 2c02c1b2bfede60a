// The measurements of a run of plx-star that a replay uses: the mesh, and seconds of work. `parallax scale`
// writes it as a TOML file from the folder of a run (docs/scale.md has the list of keys).
//
// Thread safety: a value. Cost: reading some us per block. Example: workload_test.cpp
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/block_mesh.hpp"

namespace plx::scale {

/// Seconds on one core of the measuring machine.
struct work_costs {
  double correction_s = 0.0;  ///< of one flux correction; block_s has those, too
  double totals_s = 0.0;      ///< summing up, per block and step
  double look_s = 0.0;        ///< refinement: looking at a block, and changing it, per block and look
  double rebuild_s = 0.0;     ///< refinement: what every locality does for each block of the whole mesh, per look
  double step_s = 0.0;        ///< beginning and ending a step: its blocks' share of it for each locality
  double root_s = 0.0;        ///< what locality 0 alone does once per step: tables, progress
  double handoff_s = 0.0;     ///< from the thread that makes the steps to the tasks of one, and back
  double lists_s = 0.0;       ///< refinement: new lists of what is sent, per block at a border, when the mesh changes
  double jitter = 0.0;        ///< spread of the seconds of single tasks: standard deviation of their logarithm
};

/// A mesh and its costs.
struct workload {
  mesh::domain box;
  std::vector<mesh::location> blocks;  ///< leaves in any order
  std::vector<double> block_s;         ///< of each: its stages and corrections in one step
  int stages = 3;
  int variables = 5;
  double steps_per_look = 4.0;
  double changes_per_look = 0.0;  ///< of the looks, those that make another mesh or move blocks
  std::vector<int> part;          ///< owner of each block, for as many localities as it names; empty: cut by block_s
  work_costs costs;

  double stepping_s() const;  ///< of all blocks
};

/// Reads the file; one line about what is wrong with it.
result<workload> read_workload(const std::string& path);

/// So many of it side by side along each axis, each the mirror image of its neighbours: so levels fit where they meet.
workload mirrored(const workload& one, const std::array<int, 3>& copies);

/// The mesh, slot i being blocks[i].
result<mesh::block_mesh> mesh_of(const workload& w);

}  // namespace plx::scale
