// The messages that one part of a mesh exchanges with the others: at most one per pair of parts and exchange, stored
// one after the other in the part's memory. For the gas: ghost cells and fluxes.
//
// Thread safety: const; any thread. Cost: as mesh/between/halo.hpp. Example:
// star/runners/test/distributed_device_test.cpp
#pragma once

#include <cstddef>
#include <vector>

#include "mesh/between/halo.hpp"

namespace plx::star::device {

/// The messages of one exchange: at most one to and one from each other part.
struct message_lane {
  struct piece {
    int peer = 0;
    std::size_t at = 0, size = 0;  ///< in the part's memory; doubles
  };
  std::vector<piece> out, in;  ///< none is empty

  /// Adds doubles for a peer after those that are there.
  static void add(std::vector<piece>& to, int peer, std::size_t doubles) {
    if (doubles == 0) return;
    if (!to.empty() && to.back().peer == peer)
      to.back().size += doubles;
    else
      to.push_back({peer, size(to), doubles});
  }
  static std::size_t size(const std::vector<piece>& all) { return all.empty() ? 0 : all.back().at + all.back().size; }
  bool empty() const { return out.empty() && in.empty(); }
};

/// The data of the gas that parts exchange: one group per pair of parts.
struct part_borders {
  part_borders() = default;
  part_borders(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here, int variables,
               mesh::reach wanted)
      : face_doubles(static_cast<std::size_t>(variables) * mesh.block_size() * mesh.block_size()),
        ghosts(mesh, parts, here, variables, no_limit, wanted),
        fluxes(mesh, parts, here, no_limit) {}

  bool empty() const { return ghosts.empty(); }
  static constexpr std::size_t no_limit = std::size_t{1} << 40;  ///< one group per pair
  std::size_t face_doubles = 0;  ///< of a face of a block: fluxes are sent unchanged, [variable][n][n]
  mesh::halo ghosts;
  mesh::flux_halo fluxes;
};

}  // namespace plx::star::device
