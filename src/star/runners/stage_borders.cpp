#include "star/runners/stage_borders.hpp"

#include <algorithm>

#include "step/node_graph.hpp"

namespace plx::star {

std::vector<step::border_group> border_groups(std::span<const mesh::halo_group> groups) {
  std::vector<step::border_group> all;
  for (const mesh::halo_group& g : groups) all.push_back({g.peer, g.blocks, g.size()});
  return all;
}

std::vector<step::border_group> border_groups(std::span<const mesh::flux_group> groups, std::size_t face_doubles) {
  std::vector<step::border_group> all;
  for (const mesh::flux_group& g : groups) {
    step::border_group& to = all.emplace_back(step::border_group{g.peer, {}, g.faces.size() * face_doubles});
    for (const mesh::fine_face& f : g.faces)
      if (to.nodes.empty() || to.nodes.back() != f.fine) to.nodes.push_back(f.fine);
  }
  return all;
}

void ghost_border::adopt(const step::node_graph&, const step::border_use&) {
  sends_ = border_groups(gas_.ghosts.sends());
  receives_ = border_groups(gas_.ghosts.receives());
}

void ghost_border::pack(std::size_t group, std::size_t index, double* message) const {
  mesh::pack(gas_.ghosts.sends()[group], index, values_, message);
}

void ghost_border::unpack(std::size_t group, const double* message) {
  mesh::unpack(gas_.ghosts.receives()[group], message, values_);
}

void flux_border::adopt(const step::node_graph&, const step::border_use&) {
  sends_ = border_groups(gas_.between.sends(), fluxes_.quarter_doubles());
  receives_ = border_groups(gas_.between.receives(), fluxes_.quarter_doubles());
  first_face_.clear();
  for (const mesh::flux_group& g : gas_.between.sends()) {
    std::vector<std::uint32_t>& first = first_face_.emplace_back();
    for (std::size_t i = 0; i < g.faces.size(); ++i)
      if (i == 0 || g.faces[i].fine != g.faces[i - 1].fine) first.push_back(static_cast<std::uint32_t>(i));
    first.push_back(static_cast<std::uint32_t>(g.faces.size()));
  }
}

void flux_border::pack(std::size_t group, std::size_t index, double* message) const {
  const auto& faces = gas_.between.sends()[group].faces;
  for (std::uint32_t i = first_face_[group][index]; i < first_face_[group][index + 1]; ++i)
    std::copy_n(fluxes_.coarsened(faces[i].fine, faces[i].face), fluxes_.quarter_doubles(),
                message + i * fluxes_.quarter_doubles());
}

void flux_border::unpack(std::size_t group, const double* message) {
  for (const mesh::fine_face& f : gas_.between.receives()[group].faces) {
    fluxes_.put_coarsened(gas_.mesh, f.fine, f.face, message);
    message += fluxes_.quarter_doubles();
  }
}

}  // namespace plx::star
