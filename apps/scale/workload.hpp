// The measurements of a run of plx-star that a replay uses: the mesh, and seconds of work. `parallax scale`
// writes it as a TOML file from the folder of a run (docs/scale.md has the list of keys).
//
// Thread safety: a value. Cost: reading some us per block. Example: workload_test.cpp
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mesh/between/gather.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "star/gravity/options.hpp"

namespace plx::scale {

/// Seconds on one core of the measuring machine.
struct work_costs {
  double totals_s = 0.0;   ///< summing up, per block and step
  double look_s = 0.0;     ///< regrid check: checking and changing a block, per block and check
  double rebuild_s = 0.0;  ///< regrid check: work of every locality per block of the whole mesh
  double plan_s = 0.0;     ///< regrid: the plan of the new mesh by every locality, per block of the whole mesh
  double step_s = 0.0;     ///< start and end of a step: per locality in proportion to its blocks
  double root_s = 0.0;     ///< work of locality 0 only, once per step: tables, progress
  double handoff_s = 0.0;  ///< from the stepping thread to the tasks of a step, and back
  double lists_s = 0.0;    ///< regrid: new send lists, per block at a border
  double tree_s = 0.0;     ///< regrid with gravity: the tasks on the new tree, per block of the whole mesh
  double jitter = 0.0;     ///< spread of the seconds of single tasks: standard deviation of their logarithm
};

/// A mesh and its costs.
struct workload {
  mesh::domain box;
  std::vector<mesh::location> blocks;  ///< leaves in any order
  /// Per block: its tasks in the stages of one step, and its shares of those of the refined nodes above it.
  std::vector<double> block_s;
  std::map<std::string, double, std::less<>> task_s;  ///< of one task of a type, if not skipped; only ratios count
  int stages = 3;
  int variables = 5;
  bool reads_edges = false;                               ///< stages read ghosts across edges and corners, too
  std::optional<star::gravity::gravity_options> gravity;  ///< self-gravity
  double carried = 0.0;  ///< fraction of steps that begin with the gravity of the step before
  double steps_per_look = 4.0;
  double changes_per_look = 0.0;  ///< fraction of regrid checks that change the mesh or move blocks
  std::vector<int> part;          ///< owner of each block, for a fixed number of localities; empty: divided by block_s
  work_costs costs;

  double stepping_s() const;                       ///< sum over all blocks
  double seconds_of(std::string_view type) const;  ///< 0: unknown
  mesh::reach reach() const { return reads_edges ? mesh::reach::full : mesh::reach::faces; }
};

/// Reads the file. The error is one line.
result<workload> read_workload(const std::string& path);

/// The given number of copies side by side along each axis, each the mirror image of its neighbours, so that levels
/// match.
workload mirrored(const workload& one, const std::array<int, 3>& copies);

/// The mesh, slot i being blocks[i].
result<mesh::block_mesh> mesh_of(const workload& w);

/// The box for the passes of gravity, which are those of an isolated domain: mirrored copies of a periodic box need not
/// be one that gravity takes. Its two passes for the mean density are omitted.
inline mesh::domain isolated(mesh::domain box) {
  box.sides.fill(mesh::boundary::outflow);
  return box;
}

}  // namespace plx::scale
