// Costs of a border between localities in addition to its messages: copying cells and fluxes into and out of messages,
// and building the lists of data to send. Measured on a mesh that is divided in two.
//
// Thread safety: any thread. Cost: some milliseconds. Internal to plx-scale-record.
#pragma once

#include "star/gas.hpp"

namespace plx::scale {

struct border_costs {
  double pack_s_per_byte = 0.0, unpack_s_per_byte = 0.0;
  double lists_s_per_block = 0.0;  ///< per block at the border, on either side: new lists after a regrid
  double plan_s_per_block = 0.0;   ///< per block of the whole mesh: the regrid plan, computed by every locality
};

/// Requires: all blocks of the gas are local. All zero if the mesh has fewer than two blocks.
border_costs measure_border(const star::gas& g, std::size_t group_bytes);

}  // namespace plx::scale
