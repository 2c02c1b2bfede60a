#include "mesh/between/halo.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/assert.hpp"

namespace plx::mesh {

namespace {

block_box box_of(slot_id slot, const std::array<int, 3>& lo, const std::array<int, 3>& hi) {
  block_box box{slot, {}, {}};
  for (int a = 0; a < 3; ++a) {
    box.lo[a] = static_cast<std::int8_t>(lo[a]);
    box.hi[a] = static_cast<std::int8_t>(hi[a]);
  }
  return box;
}

// Cells in a direction: three layers of a block of the same level, six of finer ones.
void read_direction(const block_mesh& mesh, slot_id slot, int direction, std::vector<block_box>& out) {
  const neighbour& there = mesh.around(slot, direction);
  if (there.kind != relation::same && there.kind != relation::finer) return;
  const int n = mesh.block_size(), layers = there.kind == relation::same ? ghosts : 2 * ghosts;
  const auto dir = direction_of(direction);
  std::array<int, 3> lo{0, 0, 0}, hi{n, n, n};
  for (int a = 0; a < 3; ++a) {
    if (dir[a] > 0) hi[a] = layers;
    if (dir[a] < 0) lo[a] = n - layers;
  }
  for (int c = 0; c < there.count; ++c) out.push_back(box_of(there.slots[c], lo, hi));
}

// The input of a box of the coarse tile (gather.cpp).
void read_coarse(const block_mesh& mesh, slot_id slot, const coarse_box& box, std::vector<block_box>& out) {
  const neighbour& source = mesh.around(slot, box.direction);
  if (source.kind == relation::side) return;
  const int n = mesh.block_size(), half = n / 2;
  const auto dir = direction_of(box.direction);
  const location& l = mesh.where(slot);
  std::array<int, 3> lo{}, hi{};
  for (int a = 0; a < 3; ++a) {
    const bool coarser = source.kind == relation::coarser;
    const int scale = coarser ? 1 : 2;
    const int first = coarser ? ((l.x[a] + dir[a]) & 1) * half - dir[a] * half : -dir[a] * n;
    lo[a] = scale * box.lo[a] + first;
    hi[a] = scale * box.hi[a] + first;
    PLX_ASSERT(lo[a] >= 0 && hi[a] <= n, slot, box.direction, lo[a], hi[a]);
  }
  out.push_back(box_of(source.slots[0], lo, hi));
}

bool contains(const block_box& outer, const block_box& inner) {
  for (int a = 0; a < 3; ++a)
    if (inner.lo[a] < outer.lo[a] || inner.hi[a] > outer.hi[a]) return false;
  return true;
}

// Sorts boxes into a canonical order, and removes those inside another one.
void tidy(std::vector<block_box>& boxes) {
  const auto key = [](const block_box& b) { return std::tie(b.lo, b.hi); };
  std::sort(boxes.begin(), boxes.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
  std::vector<block_box> kept;
  for (const block_box& b : boxes)
    if (std::none_of(boxes.begin(), boxes.end(), [&](const auto& o) { return !(o == b) && contains(o, b); }))
      kept.push_back(b);
  boxes = std::move(kept);
}

// Blocks by position on the curve, with their cells that are read.
using block_list = std::map<int, std::vector<block_box>>;

// Builds the groups of one pair of localities.
class grouping {
 public:
  grouping(const block_mesh& mesh, int peer, int variables, std::size_t group_bytes, std::vector<halo_group>& out)
      : mesh_(mesh), peer_(peer), variables_(variables), most_(group_bytes / sizeof(double)), out_(out) {}

  void add(int position, std::vector<block_box>& boxes) {
    tidy(boxes);
    std::size_t values = 0;
    for (const block_box& b : boxes) values += static_cast<std::size_t>(b.cells()) * variables_;
    if (first_ || out_.back().size() + values > most_) {
      out_.push_back({peer_, {}, {}, {0}, {0}});
      first_ = false;
    }
    halo_group& g = out_.back();
    g.blocks.push_back(mesh_.blocks()[position]);
    g.boxes.insert(g.boxes.end(), boxes.begin(), boxes.end());
    g.box_of.push_back(static_cast<std::uint32_t>(g.boxes.size()));
    g.place_of.push_back(g.place_of.back() + values);
  }

 private:
  const block_mesh& mesh_;
  int peer_, variables_;
  std::size_t most_;
  std::vector<halo_group>& out_;
  bool first_ = true;
};

// Calls f(row of the block's cells, number of values in it) for each row of a box.
template <class Block, class F>
void for_rows(const block_box& box, int n, int variables, Block* block, F&& f) {
  const int length = box.hi[0] - box.lo[0];
  for (int v = 0; v < variables; ++v)
    for (int k = box.lo[2]; k < box.hi[2]; ++k)
      for (int j = box.lo[1]; j < box.hi[1]; ++j) f(block + ((v * n + k) * n + j) * n + box.lo[0], length);
}

}  // namespace

std::vector<block_box> read_boxes(const block_mesh& mesh, slot_id slot, reach wanted) {
  const bool faces_only = wanted == reach::faces;
  std::vector<block_box> all;
  for (int d = 0; d < direction_count; ++d)
    if (d != self_direction && (!faces_only || (face_directions() >> d & 1) != 0)) read_direction(mesh, slot, d, all);
  for (const coarse_box& box : mesh.coarse_boxes(slot, faces_only)) read_coarse(mesh, slot, box, all);
  std::erase_if(all, [&](const block_box& b) { return b.slot == slot; });
  return all;
}

halo::halo(const block_mesh& mesh, const curve_parts& parts, int here, int variables, std::size_t group_bytes,
           reach wanted)
    : first_receive_(parts.count() + 1, 0) {
  std::map<int, block_list> out, in;  // by peer
  const auto owner = [&](slot_id s) { return parts.part_of(mesh, s); };
  for (const slot_id slot : parts.blocks(mesh, here)) {
    for (const slot_id other : mesh.touching(slot)) {
      const int peer = owner(other);
      if (peer == here) continue;
      out[peer][mesh.position(slot)];
      if (in[peer].try_emplace(mesh.position(other)).second) mirrors_.push_back(other);
    }
    for (const block_box& b : read_boxes(mesh, slot, wanted))
      if (const int peer = owner(b.slot); peer != here) in.at(peer).at(mesh.position(b.slot)).push_back(b);
  }
  std::sort(mirrors_.begin(), mirrors_.end());
  for (const slot_id mirror : mirrors_)
    for (const block_box& b : read_boxes(mesh, mirror, wanted))
      if (owner(b.slot) == here) out.at(owner(mirror)).at(mesh.position(b.slot)).push_back(b);
  for (auto& [peer, blocks] : out) {
    const std::size_t first = sends_.size();
    grouping groups(mesh, peer, variables, group_bytes, sends_);
    for (auto& [position, boxes] : blocks) groups.add(position, boxes);
    for (std::size_t i = first; i < sends_.size(); ++i) numbers_.push_back(static_cast<int>(i - first));
  }
  for (auto& [peer, blocks] : in) {
    first_receive_[peer] = static_cast<int>(receives_.size());
    grouping groups(mesh, peer, variables, group_bytes, receives_);
    for (auto& [position, boxes] : blocks) groups.add(position, boxes);
  }
  if (!sends_.empty()) list_places(mesh.slot_count());
}

// Lists positions by slot, in the order of the groups.
void halo::list_places(std::size_t slots) {
  place_begin_.assign(slots + 1, 0);
  for (const halo_group& g : sends_)
    for (const slot_id slot : g.blocks) ++place_begin_[slot + 1];
  for (std::size_t s = 0; s < slots; ++s) place_begin_[s + 1] += place_begin_[s];
  places_.resize(place_begin_.back());
  std::vector<std::uint32_t> next(place_begin_.begin(), place_begin_.end() - 1);
  for (std::size_t g = 0; g < sends_.size(); ++g)
    for (std::size_t i = 0; i < sends_[g].blocks.size(); ++i)
      places_[next[sends_[g].blocks[i]]++] = {static_cast<std::int32_t>(g), static_cast<std::int32_t>(i)};
}

std::span<const halo_place> halo::places(slot_id slot) const {
  if (place_begin_.empty()) return {};
  return std::span(places_).subspan(place_begin_[slot], place_begin_[slot + 1] - place_begin_[slot]);
}

void pack(const halo_group& group, std::size_t index, const arena& values, double* message) {
  double* to = message + group.place_of[index];
  const double* block = values.block(group.blocks[index]);
  for (std::uint32_t b = group.box_of[index]; b < group.box_of[index + 1]; ++b)
    for_rows(group.boxes[b], values.block_size(), values.variable_count(), block, [&](const double* row, int length) {
      std::copy_n(row, length, to);
      to += length;
    });
}

void unpack(const halo_group& group, const double* message, arena& values) {
  const double* from = message;
  for (const block_box& box : group.boxes)
    for_rows(box, values.block_size(), values.variable_count(), values.block(box.slot), [&](double* row, int length) {
      std::copy_n(from, length, row);
      from += length;
    });
}

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
