#include "star/device/data/mesh_tables.hpp"

#include "base/assert.hpp"
#include "mesh/between/gather.hpp"
#include "star/step/gas_step.hpp"

namespace plx::star::device {

using mesh::relation;
using mesh::slot_id;

ghosts_from beyond(mesh::boundary side) {
  switch (side) {
    case mesh::boundary::reflecting:
      return ghosts_from::reflecting;
    case mesh::boundary::inflow:
      return ghosts_from::inflow;
    case mesh::boundary::zero_gradient:
      return ghosts_from::zero_gradient;
    case mesh::boundary::problem:
      return ghosts_from::given;
    case mesh::boundary::outflow:
    case mesh::boundary::periodic:
      break;
  }
  return ghosts_from::outflow;
}

mesh_tables::mesh_tables(const mesh::block_mesh& mesh, int n_var, std::size_t stride, tile_reach of_tiles, range part,
                         std::span<const std::int32_t> row_of)
    : n_var_(n_var), stride_(stride), part_(part), row_of_(row_of) {
  const auto own = mesh.blocks().subspan(part.begin, part.end - part.begin);
  for (const slot_id slot : own) {
    block_item b;
    b.values = first_double(slot);
    b.place = place_of(mesh, slot);
    b.slot = slot;
    b.level = mesh.level(slot);
    place_faces(mesh, slot, b);
    blocks.push_back(b);
  }
  for (const slot_id slot : own) {
    add_level_item(mesh, slot);
    add_correction(mesh, slot);
    if (of_tiles != tile_reach::no_tiles) add_tile(mesh, slot, of_tiles == tile_reach::faces);
  }
}

std::int64_t mesh_tables::first_double(slot_id slot) const {
  if (row_of_.empty()) return static_cast<std::int64_t>(slot * stride_);
  const std::int32_t row = row_of_[slot];
  PLX_ASSERT(row >= 0, slot);
  return static_cast<std::int64_t>(static_cast<std::size_t>(row) * stride_);
}

void mesh_tables::place_faces(const mesh::block_mesh& mesh, slot_id slot, block_item& b) {
  const std::size_t area = static_cast<std::size_t>(n_var_) * mesh.block_size() * mesh.block_size();
  for (int f = 0; f < mesh::face_count; ++f) {
    const mesh::neighbour& other = mesh.across(slot, f);
    if (other.kind == relation::same) {
      b.face[f] = {first_double(other.slots[0]), ghosts_from::block, 0};
      continue;
    }
    b.flux[f] = static_cast<std::int64_t>(flux_doubles);
    flux_doubles += area;
    if (other.kind == relation::side) {
      b.face[f] = {0, beyond(mesh.box().sides[f]), 0};
      if (b.face[f].kind == ghosts_from::given) {
        b.face[f].origin = static_cast<std::int64_t>(given_doubles);
        given.push_back({slot, f, b.face[f].origin});
        given_doubles += mesh::ghosts * area;
      }
      sides.push_back({b.flux[f], b.place.dx, mesh::face_is_upper(f) ? 1.0 : -1.0});
      side_face.push_back(static_cast<std::uint8_t>(f));
    } else {
      b.face[f] = {static_cast<std::int64_t>(slab_doubles), ghosts_from::slab, other.kind == relation::finer ? 1 : 0};
      slab_doubles += mesh::ghosts * area;
    }
  }
}

void mesh_tables::add_level_item(const mesh::block_mesh& mesh, slot_id slot) {
  level_item item;
  item.position = mesh.position(slot) - part_.begin;
  for (int f = 0; f < mesh::face_count; ++f) {
    const mesh::neighbour& other = mesh.across(slot, f);
    if (other.kind == relation::coarser) item.coarser |= 1u << f;
    if (other.kind == relation::side) item.beyond |= 1u << f;
    if (other.kind != relation::finer) continue;
    item.finer |= 1u << f;
    for (int c = 0; c < 4; ++c) item.fine[f][c] = first_double(other.slots[c]);
  }
  if ((item.finer | item.coarser) == 0) return;
  if (item.coarser != 0) add_coarse_tile(mesh, slot, true, item);
  levels.push_back(item);
}

void mesh_tables::add_tile(const mesh::block_mesh& mesh, slot_id slot, bool faces_only) {
  const std::uint32_t wanted = faces_only ? mesh::face_directions() : (1u << mesh::direction_count) - 1;
  tile_item item;
  item.same = (mesh.directions_with(slot, relation::same) & wanted) | 1u << mesh::self_direction;
  item.finer = mesh.directions_with(slot, relation::finer) & wanted;
  item.coarser = mesh.directions_with(slot, relation::coarser) & wanted;
  for (int d = 0; d < mesh::direction_count; ++d) {
    if ((wanted >> d & 1) == 0) continue;
    for (int c = 0; c < mesh.around(slot, d).count; ++c) item.from[d][c] = first_double(mesh.around(slot, d).slots[c]);
  }
  item.from[mesh::self_direction][0] = first_double(slot);
  for (int f = 0; f < mesh::face_count; ++f)
    if (mesh.across(slot, f).kind == relation::side) item.beyond |= 1u << f;
  if (item.coarser != 0) add_coarse_tile(mesh, slot, faces_only, item);
  tiles.push_back(item);
}

template <class Item>
void mesh_tables::add_coarse_tile(const mesh::block_mesh& mesh, slot_id slot, bool faces_only, Item& item) {
  item.fills_begin = static_cast<std::int32_t>(fills.size());
  const int n = mesh.block_size(), half = n / 2;
  item.coarse_tile = static_cast<std::int64_t>(coarse_doubles);
  coarse_doubles += static_cast<std::size_t>(n_var_) * mesh::tile_cells(half);
  const mesh::location& l = mesh.where(slot);
  for (const mesh::coarse_box& box : mesh.coarse_boxes(slot, faces_only)) {
    const mesh::neighbour& source = mesh.around(slot, box.direction);
    if (source.kind == relation::side) continue;
    const auto dir = mesh::direction_of(box.direction);
    coarse_fill fill;
    fill.source = first_double(source.slots[0]);
    fill.mean = source.kind == relation::coarser ? 0 : 1;
    for (int a = 0; a < 3; ++a) {
      fill.lo[a] = box.lo[a], fill.hi[a] = box.hi[a];
      fill.shift[a] = fill.mean != 0 ? -dir[a] * n : ((l.x[a] + dir[a]) & 1) * half - dir[a] * half;
    }
    fills.push_back(fill);
  }
  item.fills_end = static_cast<std::int32_t>(fills.size());
}

// Offset of the flux of a finer block across a face.
std::int64_t mesh_tables::flux_of(const mesh::block_mesh& mesh, slot_id slot, int face) {
  const int position = mesh.position(slot);
  if (part_.contains(position)) return blocks[position - part_.begin].flux[face];
  foreign.push_back({slot, face, static_cast<std::int64_t>(flux_doubles)});
  flux_doubles += static_cast<std::size_t>(n_var_) * mesh.block_size() * mesh.block_size();
  return foreign.back().flux;
}

void mesh_tables::add_correction(const mesh::block_mesh& mesh, slot_id slot) {
  if (mesh.finer_face_count(slot) == 0) return;
  correction_item item;
  item.position = mesh.position(slot) - part_.begin;
  for (int f = 0; f < mesh::face_count; ++f) {
    const mesh::neighbour& other = mesh.across(slot, f);
    if (other.kind != relation::finer) continue;
    item.finer |= 1u << f;
    for (int c = 0; c < 4; ++c) item.fine[f][c] = flux_of(mesh, other.slots[c], mesh::opposite_face(f));
  }
  corrections.push_back(item);
}

std::vector<double> given_values(const mesh::block_mesh& mesh, std::span<const given_face> faces, std::size_t doubles,
                                 int n_var, const mesh::outside_state& outside, double time) {
  std::vector<double> all(doubles, 0.0), u(static_cast<std::size_t>(n_var));
  const int n = mesh.block_size();
  const std::size_t volume = static_cast<std::size_t>(mesh::ghosts) * n * n;
  for (const given_face& g : faces) {
    const int axis = mesh::face_axis(g.face);
    int lo[3] = {0, 0, 0}, width[3] = {n, n, n};
    lo[axis] = mesh::face_is_upper(g.face) ? n : -mesh::ghosts, width[axis] = mesh::ghosts;
    double* to = all.data() + g.origin;
    for (int k = lo[2]; k < lo[2] + width[2]; ++k)
      for (int j = lo[1]; j < lo[1] + width[1]; ++j)
        for (int i = lo[0]; i < lo[0] + width[0]; ++i, ++to) {
          if (!outside.at(g.face, {mesh.centre(g.slot, 0, i), mesh.centre(g.slot, 1, j), mesh.centre(g.slot, 2, k)},
                          time, u.data()))
            continue;  // zeros: a wall
          for (std::size_t v = 0; v < u.size(); ++v) to[v * volume] = u[v];
        }
  }
  return all;
}

}  // namespace plx::star::device
