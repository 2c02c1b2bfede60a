#include "star/device/data/part_borders.hpp"

namespace plx::star::device {

namespace {

constexpr std::size_t no_limit = std::size_t{1} << 40;  // one group per pair

}  // namespace

part_borders::part_borders(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here, int variables,
                           mesh::reach wanted)
    : face_doubles(static_cast<std::size_t>(variables) * mesh.block_size() * mesh.block_size()),
      ghosts(mesh, parts, here, variables, no_limit, wanted),
      fluxes(mesh, parts, here, no_limit) {
  for (const mesh::halo_group& g : ghosts.sends()) ghosts_out.push_back(ghosts_out.back() + g.size());
  for (const mesh::halo_group& g : ghosts.receives()) ghosts_in.push_back(ghosts_in.back() + g.size());
  for (const mesh::flux_group& g : fluxes.sends())
    fluxes_out.push_back(fluxes_out.back() + g.faces.size() * face_doubles);
  for (const mesh::flux_group& g : fluxes.receives())
    fluxes_in.push_back(fluxes_in.back() + g.faces.size() * face_doubles);
}

}  // namespace plx::star::device
