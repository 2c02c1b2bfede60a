#include "mesh/border/flux_halo.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace plx::mesh {

namespace {

using faces_by_peer = std::map<int, std::vector<fine_face>>;

// Divides the faces into groups along the curve of the fine blocks.
std::vector<flux_group> grouped(const block_mesh& mesh, faces_by_peer& all, std::size_t most,
                                std::vector<int>& numbers) {
  std::vector<flux_group> groups;
  for (auto& [peer, faces] : all) {
    const auto key = [&](const fine_face& f) { return std::tuple(mesh.position(f.fine), f.face); };
    std::sort(faces.begin(), faces.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    int number = 0;
    for (std::size_t i = 0; i < faces.size();) {
      std::size_t next = i;  // the first face of the next block
      while (next < faces.size() && faces[next].fine == faces[i].fine) ++next;
      if (i == 0 || groups.back().faces.size() + (next - i) > most) {
        groups.push_back({peer, {}});
        numbers.push_back(number++);
      }
      groups.back().faces.insert(groups.back().faces.end(), faces.begin() + static_cast<std::ptrdiff_t>(i),
                                 faces.begin() + static_cast<std::ptrdiff_t>(next));
      i = next;
    }
  }
  return groups;
}

}  // namespace

flux_halo::flux_halo(const block_mesh& mesh, const curve_parts& parts, int here, std::size_t group_faces)
    : first_receive_(parts.count(), 0) {
  faces_by_peer out, in;
  for (const slot_id slot : parts.blocks(mesh, here)) {
    for (const face_neighbour& coarse : mesh.coarser_face_neighbours(slot))
      if (const int peer = parts.part_of(mesh, coarse.slot); peer != here)
        out[peer].push_back({slot, coarse.face, coarse.slot});
    for (int f = 0; f < face_count; ++f) {
      const neighbour& across = mesh.across(slot, f);
      if (across.kind != relation::finer) continue;
      for (int c = 0; c < across.count; ++c)
        if (const int peer = parts.part_of(mesh, across.slots[c]); peer != here)
          in[peer].push_back({across.slots[c], opposite_face(f), slot});
    }
  }
  sends_ = grouped(mesh, out, group_faces, numbers_);
  std::vector<int> unused;
  receives_ = grouped(mesh, in, group_faces, unused);
  for (std::size_t i = receives_.size(); i-- > 0;) first_receive_[receives_[i].peer] = static_cast<int>(i);
  if (sends_.empty()) return;
  entry_.assign(mesh.slot_count() * face_count, -1);
  for (std::size_t g = 0; g < sends_.size(); ++g)
    for (std::size_t i = 0; i < sends_[g].faces.size(); ++i) {
      const fine_face& f = sends_[g].faces[i];
      entry_[f.fine * face_count + f.face] = static_cast<std::int32_t>(places_.size());
      places_.push_back({static_cast<int>(g), static_cast<int>(i)});
    }
}

flux_halo::place flux_halo::place_of(slot_id slot, int face) const {
  if (entry_.empty()) return {};
  const std::int32_t entry = entry_[slot * face_count + face];
  return entry < 0 ? place{} : places_[entry];
}

}  // namespace plx::mesh
