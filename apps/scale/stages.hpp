// The graph of the stages of a step on many localities: the recipe of plx-star's step (star/step/gas_step.hpp), with
// self-gravity if the run has it, as step/task_runner.hpp runs it. Tasks, their order, the groups of values in messages
// and their sizes are those of step/task_graph.hpp, mesh/between/halo.hpp and step/border.hpp.
//
// Thread safety: none. Cost: some us per task. Example: step_graph_test.cpp
#pragma once

#include "mesh/tree/curve_parts.hpp"
#include "step_graph.hpp"
#include "work_graph.hpp"
#include "workload.hpp"

namespace plx::scale {

/// Requires: mesh: mesh_of(w).
work_graph stages_of_step(const workload& w, const exchange& how, const mesh::block_mesh& mesh,
                          const mesh::curve_parts& parts);

}  // namespace plx::scale
