// The graphs of one step of plx-star on many localities (docs/scale.md). A step consists of several graphs, each of
// which ends when all localities have joined: `stepping` (stages.cpp), `summing` (totals, output of the root), and,
// every few steps, `looking` (costs and marks, their exchange, the plan of the new mesh) and `changing` (the change to
// a new mesh).
//
// Thread safety: const mesh and workload; any thread. Cost: some us per block. Example: step_graph_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "mesh/tree/block_mesh.hpp"
#include "work_graph.hpp"
#include "workload.hpp"

namespace plx::scale {

/// How data travels.
struct exchange {
  bool coalesced = true;               ///< false: one message per block, neighbour and stage
  std::size_t group_bytes = 1u << 16;  ///< coalesced: a message holds at most this, or one block
  bool pairwise = true;                ///< localities join in pairs, as in net; false: all to all
  double header_bytes = 32.0;          ///< of each message
  double bundle_bytes = 16.0;          ///< per locality in a combined message
  double agree_bytes = 2560.0;         ///< data of a locality at the end of a step
  double sum_bytes = 512.0;            ///< totals
  std::uint64_t seed = 1;              ///< of the jitter of single tasks
};

/// All localities join as `how` specifies; each contributes `bytes` and receives as many.
reduction add_reduction(work_graph& g, int localities, const exchange& how, double bytes);

/// Checks that the parts of a workload fit `localities` and the curve. The error is one line.
result<void> check_parts(const workload& w, int localities);

/// The graph of the stages of a step: the recipe of plx-star's step (star/step/gas_step.hpp), with self-gravity if the
/// run has it, as step/task_runner.hpp runs it. Tasks, their order, the groups of values in messages and their sizes
/// are those of step/task_graph.hpp, mesh/between/halo.hpp and step/border.hpp. Requires: mesh: mesh_of(w).
work_graph stages_of_step(const workload& w, const exchange& how, const mesh::block_mesh& mesh,
                          const mesh::curve_parts& parts);

/// The run, divided into localities.
class distributed_run {
 public:
  /// Requires: mesh_of(w) has a value; localities <= blocks; the parts that w names, if any, are in the order of the
  /// curve (check_parts).
  distributed_run(const workload& w, int localities, const exchange& how);

  work_graph stepping() const;
  work_graph summing() const;
  work_graph looking() const;
  /// After a regrid check that changed the mesh: new lists, all ghosts once, and information on the new blocks.
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
