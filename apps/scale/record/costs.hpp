// Costs for `./plx scale`, measured on this machine: of tasks and messages; and of a border between localities in
// addition to its messages: copying cells and fluxes into and out of messages, and building the lists of data to send.
//
// Thread safety: called by the thread that created the job. Cost: about a second. Internal to plx-scale-record.
// Example: python/tests/star/test_scale_check.py
#pragma once

#include <cstddef>
#include <string>

#include "star/state/gas.hpp"

namespace plx {
class job;
}

namespace plx::scale {

/// As JSON, on the root; "" elsewhere. A job of one process measures tasks, one of several also messages between 0 and
/// 1, and the time for all processes to agree.
std::string measure_costs(job& j);

struct border_costs {
  double pack_s_per_byte = 0.0, unpack_s_per_byte = 0.0;
  double lists_s_per_block = 0.0;  ///< per block at the border, on either side: new lists after a regrid
  // Per block of the whole mesh, by every locality:
  double decision_s_per_block = 0.0;  ///< the decision that the mesh stays
  double plan_s_per_block = 0.0;      ///< the plan of a mesh in which one block is split, if one can be
  double tree_s_per_block = 0.0;      ///< nodes of the tree, which passes of gravity need
};

/// Requires: all blocks of the gas are local. All zero if the mesh has fewer than two blocks.
border_costs measure_border(const star::gas& g, std::size_t group_bytes);

}  // namespace plx::scale
