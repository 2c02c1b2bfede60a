#include "star/runners/stage_borders.hpp"

#include <algorithm>

#include "step/node_graph.hpp"

namespace plx::star {

namespace {

// `first_face`, if it is not null, receives the index of each node's first face.
step::border_group group_of(const mesh::flux_group& g, std::size_t face_doubles,
                            std::vector<std::uint32_t>* first_face) {
  step::border_group out{g.peer, {}, g.faces.size() * face_doubles};
  for (std::size_t i = 0; i < g.faces.size(); ++i) {
    if (!out.nodes.empty() && out.nodes.back() == g.faces[i].fine) continue;
    out.nodes.push_back(g.faces[i].fine);
    if (first_face != nullptr) first_face->push_back(static_cast<std::uint32_t>(i));
  }
  if (first_face != nullptr) first_face->push_back(static_cast<std::uint32_t>(g.faces.size()));
  return out;
}

}  // namespace

void ghost_border::adopt(const step::node_graph&, const step::border_use&) {
  const auto copy = [](std::span<const mesh::halo_group> from, std::vector<step::border_group>& to) {
    to.clear();
    for (const mesh::halo_group& g : from) to.push_back({g.peer, g.blocks, g.size()});
  };
  copy(gas_.ghosts.sends(), sends_);
  copy(gas_.ghosts.receives(), receives_);
}

void ghost_border::pack(std::size_t group, std::size_t index, double* message) const {
  mesh::pack(gas_.ghosts.sends()[group], index, values_, message);
}

void ghost_border::unpack(std::size_t group, const double* message) {
  mesh::unpack(gas_.ghosts.receives()[group], message, values_);
}

void flux_border::adopt(const step::node_graph&, const step::border_use&) {
  sends_.clear();
  receives_.clear();
  first_face_.clear();
  for (const mesh::flux_group& g : gas_.between.sends())
    sends_.push_back(group_of(g, fluxes_.quarter_doubles(), &first_face_.emplace_back()));
  for (const mesh::flux_group& g : gas_.between.receives())
    receives_.push_back(group_of(g, fluxes_.quarter_doubles(), nullptr));
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
