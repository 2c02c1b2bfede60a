// The messages that one part of a mesh exchanges with the others: one of ghost cells and one of fluxes per pair of
// parts, stored one after the other in the part's memory.
//
// Thread safety: const; any thread. Cost: as mesh/border/halo.hpp. Example:
// star/runners/test/distributed_device_test.cpp
#pragma once

#include <cstddef>
#include <vector>

#include "mesh/border/flux_halo.hpp"
#include "mesh/border/halo.hpp"

namespace plx::star::device {

struct part_borders {
  part_borders() = default;
  part_borders(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here, int variables,
               mesh::reach wanted);

  bool empty() const { return ghosts.empty(); }
  std::size_t face_doubles = 0;  ///< of a face of a block: fluxes are sent unchanged, [variable][n][n]
  mesh::halo ghosts;
  mesh::flux_halo fluxes;
  /// By group of sends() or receives(), and one more: offset of the group's first double.
  std::vector<std::size_t> ghosts_out{0}, ghosts_in{0}, fluxes_out{0}, fluxes_in{0};
};

}  // namespace plx::star::device
