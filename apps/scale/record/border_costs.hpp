// Costs of a border between localities beside its messages: copying cells and fluxes into messages and out of them, and
// making the lists of data to send. Measured on a mesh that is cut in two.
//
// Thread safety: any thread. Cost: some milliseconds. Inside plx-scale-record only.
#pragma once

#include "star/gas.hpp"

namespace plx::scale {

struct border_costs {
  double pack_s_per_byte = 0.0, unpack_s_per_byte = 0.0;
  double lists_s_per_block = 0.0;  ///< per block at the border, of either side: new lists after a change of the mesh
  double plan_s_per_block = 0.0;   ///< per block of the whole mesh: the plan of a look, which every locality makes
};

/// Requires: all blocks of the gas are here. All zero when the mesh has fewer than two blocks.
border_costs measure_border(const star::gas& g, std::size_t group_bytes);

}  // namespace plx::scale
