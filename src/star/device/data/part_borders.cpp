#include "star/device/data/part_borders.hpp"

namespace plx::star::device {

namespace {

constexpr std::size_t no_limit = std::size_t{1} << 40;  // one group per pair

}  // namespace

void message_lane::add(std::vector<piece>& to, int peer, std::size_t doubles) {
  if (doubles == 0) return;
  if (!to.empty() && to.back().peer == peer)
    to.back().size += doubles;
  else
    to.push_back({peer, size(to), doubles});
}

part_borders::part_borders(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here, int variables,
                           mesh::reach wanted)
    : face_doubles(static_cast<std::size_t>(variables) * mesh.block_size() * mesh.block_size()),
      ghosts(mesh, parts, here, variables, no_limit, wanted),
      fluxes(mesh, parts, here, no_limit) {}

}  // namespace plx::star::device
