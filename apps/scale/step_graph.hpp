// The graphs of one step of plx-star on many localities, made from the mesh as its stepper makes its tasks
// (docs/scale.md, star/stepper.hpp). A step is some graphs, each of which ends when all localities have joined:
// `stepping` (stages, flux corrections, ghosts, the time step), `summing` (totals, what the root writes), and, every
// few steps, `looking` (costs and marks, their exchange, the plan of the new mesh) and `changing` (what a new mesh
// needs).
//
// Thread safety: const mesh and workload; any thread. Cost: some us per block. Example: step_graph_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mesh/curve_parts.hpp"
#include "work_graph.hpp"
#include "workload.hpp"

namespace plx::scale {

/// How data travels.
struct exchange {
  bool coalesced = true;               ///< false: one message per block, neighbour and stage
  std::size_t group_bytes = 1u << 16;  ///< coalesced: a message holds at most this, or one block
  bool pairwise = true;                ///< all join in pairs, as in net; false: every one sends to every other
  double header_bytes = 32.0;          ///< of each message
  double bundle_bytes = 16.0;          ///< of each locality's numbers among those of others
  double agree_bytes = 2560.0;         ///< what a locality says at the end of a step
  double sum_bytes = 512.0;            ///< totals
  std::uint64_t seed = 1;              ///< of the jitter of single tasks
};

/// All localities join as `how` says; each has `bytes` to tell, and learns as many.
reduction add_reduction(work_graph& g, int localities, const exchange& how, double bytes);

/// Checks that the parts of a workload fit `localities` and the curve. One line of error if not.
result<void> check_parts(const workload& w, int localities);

/// The run, cut into localities.
class distributed_run {
 public:
  /// Requires: mesh_of(w) has a value; localities <= blocks; the parts that w names, if any, are in the order of the
  /// curve (check_parts).
  distributed_run(const workload& w, int localities, const exchange& how);

  work_graph stepping() const;
  work_graph summing() const;
  work_graph looking() const;
  /// After a look that made another mesh: new lists, all ghosts once, what all have to know of new blocks.
  work_graph changing() const;

  int localities() const { return parts_.count(); }
  std::size_t block_count() const { return mesh_.block_count(); }

 private:
  void add_tasks_of_blocks(work_graph& g, double seconds, const reduction& all) const;

  workload work_;
  exchange how_;
  mesh::block_mesh mesh_;
  mesh::curve_parts parts_;
};

}  // namespace plx::scale
