// A device_gas with a part of a mesh: its exchange with the others, and steps stage by stage.
#include <algorithm>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "star/device/data/large_copies.hpp"
#include "star/device/data/mesh_tables.hpp"
#include "star/device/device_passes_detail.hpp"
#include "star/device/operations.hpp"

namespace plx::star::device {

namespace {

// Adds the boxes of a message, in its order.
void add_boxes(const mesh::halo_group& g, const std::vector<std::int32_t>& row_of, int n, int n_var, std::size_t stride,
               std::int64_t at, std::vector<copy_item>& to) {
  for (const mesh::block_box& b : g.boxes) {
    copy_item item;
    item.values = static_cast<std::int64_t>(row_of[b.slot] * stride) + (b.lo[2] * n + b.lo[1]) * n + b.lo[0];
    item.message = at;
    for (int a = 0; a < 3; ++a) item.cells[a] = b.hi[a] - b.lo[a];
    at += static_cast<std::int64_t>(b.cells()) * n_var;
    to.push_back(item);
  }
}

std::int64_t flux_in(const mesh_tables& t, const mesh::fine_face& f) {
  const auto is_it = [&](const mesh_tables::foreign_flux& x) { return x.slot == f.fine && x.face == f.face; };
  const auto at = std::find_if(t.foreign.begin(), t.foreign.end(), is_it);
  PLX_ASSERT(at != t.foreign.end(), f.fine, f.face);
  return at->flux;
}

}  // namespace

void device_gas::adopt_part(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here) {
  on_.synchronize();
  carried_ = 0;
  n_ = mesh.block_size();
  stride_ = static_cast<std::size_t>(n_var_) * n_ * n_ * n_;
  const tile_reach reach = tile_reach_of(options_.hydro);
  borders_ =
      part_borders(mesh, parts, here, n_var_, reach == tile_reach::full ? mesh::reach::full : mesh::reach::faces);
  give_rows(mesh, parts, here);
  for (device_memory<double>& a : arenas_) a.reserve(on_, slots_ * stride_);
  const mesh_tables t(mesh, n_var_, stride_, reach, {parts.begin(here), parts.end(here)}, row_of_);
  passes_->adopt(mesh, parts, here);
  list_lanes(mesh, t, parts.begin(here));
  adopt_tables(mesh, t);
}

// The lists of ghost cells and fluxes are the same in all stages.
void device_gas::list_lanes(const mesh::block_mesh& mesh, const mesh_tables& t, int first_block) {
  std::vector<copy_item> copies;
  const copy_lane ghosts = ghost_lane(copies), fluxes = flux_lane(mesh, t, first_block, copies);
  std::size_t out = 0, in = 0;
  lanes_.clear();
  for (const part_exchange_plan& e : passes_->exchanges()) {
    copy_lane& l = lanes_.emplace_back(e.what == exchanged::ghosts   ? ghosts
                                       : e.what == exchanged::fluxes ? fluxes
                                                                     : node_lane(e, copies));
    l.index = e.index;
    out = std::max(out, message_lane::size(l.messages.out));
    in = std::max(in, message_lane::size(l.messages.in));
  }
  copies_.set(on_, copies);
  message_out_.reserve(on_, out);
  message_in_.reserve(on_, in);
}

device_gas::copy_lane device_gas::ghost_lane(std::vector<copy_item>& copies) const {
  copy_lane l{exchanged::ghosts};
  l.out_begin = copies.size();
  const auto add = [&](std::span<const mesh::halo_group> groups, std::vector<message_lane::piece>& to) {
    for (const mesh::halo_group& g : groups) {
      add_boxes(g, row_of_, n_, n_var_, stride_, static_cast<std::int64_t>(message_lane::size(to)), copies);
      message_lane::add(to, g.peer, g.size());
    }
  };
  add(borders_.ghosts.sends(), l.messages.out);
  l.out_end = l.in_begin = copies.size();
  add(borders_.ghosts.receives(), l.messages.in);
  l.in_end = copies.size();
  return l;
}

device_gas::copy_lane device_gas::flux_lane(const mesh::block_mesh& mesh, const mesh_tables& t, int first_block,
                                            std::vector<copy_item>& copies) const {
  copy_lane l{exchanged::fluxes};
  const auto add_face = [&](std::int64_t flux, std::vector<message_lane::piece>& to, int peer) {
    copies.push_back({flux, static_cast<std::int64_t>(message_lane::size(to)), {n_, n_, 1}, 0});
    message_lane::add(to, peer, borders_.face_doubles);
  };
  l.out_begin = copies.size();
  for (const mesh::flux_group& g : borders_.fluxes.sends())
    for (const mesh::fine_face& f : g.faces)
      add_face(t.blocks[mesh.position(f.fine) - first_block].flux[f.face], l.messages.out, g.peer);
  l.out_end = l.in_begin = copies.size();
  for (const mesh::flux_group& g : borders_.fluxes.receives())
    for (const mesh::fine_face& f : g.faces) add_face(flux_in(t, f), l.messages.in, g.peer);
  l.in_end = copies.size();
  return l;
}

device_gas::copy_lane device_gas::node_lane(const part_exchange_plan& e, std::vector<copy_item>& copies) const {
  copy_lane l{exchanged::nodes};
  const auto add = [&](const std::vector<step::border_group>& groups, std::vector<message_lane::piece>& to) {
    const int doubles = passes_->data().doubles(e.index);
    for (const step::border_group& g : groups)
      for (const step::node_id node : g.nodes) {
        copies.push_back({passes_->data().place(e.index, node),
                          static_cast<std::int64_t>(message_lane::size(to)),
                          {doubles, 1, 1},
                          0});
        message_lane::add(to, g.peer, static_cast<std::size_t>(doubles));
      }
  };
  l.out_begin = copies.size();
  add(e.nodes.sends, l.messages.out);
  l.out_end = l.in_begin = copies.size();
  add(e.nodes.receives, l.messages.in);
  l.in_end = copies.size();
  return l;
}

void device_gas::give_rows(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here) {
  const auto own = parts.blocks(mesh, here);
  part_slots_.assign(own.begin(), own.end());
  part_slots_.insert(part_slots_.end(), borders_.ghosts.mirrors().begin(), borders_.ghosts.mirrors().end());
  row_of_.assign(mesh.slot_count(), -1);
  for (std::size_t i = 0; i < part_slots_.size(); ++i) row_of_[part_slots_[i]] = static_cast<std::int32_t>(i);
  slots_ = part_slots_.size();
}

void device_gas::put_copies(bool out, const copy_lane& lane, double* message) {
  const std::size_t begin = out ? lane.out_begin : lane.in_begin, end = out ? lane.out_end : lane.in_end;
  if (begin == end) return;
  copy_arguments a;
  a.n = n_, a.n_var = lane.what == exchanged::nodes ? 1 : n_var_, a.n_items = static_cast<int>(end - begin);
  a.out = out;
  const std::int64_t face = std::int64_t{n_} * n_;
  a.variable = lane.what == exchanged::ghosts ? face * n_ : face;
  a.values = lane.what == exchanged::ghosts   ? target(lane.index)
             : lane.what == exchanged::fluxes ? fluxes_.data()
                                              : passes_->data().view().fields[lane.index].values;
  a.message = message;
  a.items = copies_.data() + begin;
  on_.launch(copy_boxes, a);
}

void device_gas::put_out(int lane, double* messages) {
  const copy_lane& l = lanes_[static_cast<std::size_t>(lane)];
  put_copies(true, l, message_out_.data());
  on_.copy(messages, message_out_.data(), message_lane::size(l.messages.out) * sizeof(double));
}

void device_gas::put_in(int lane, const double* messages) {
  const copy_lane& l = lanes_[static_cast<std::size_t>(lane)];
  on_.copy(message_in_.data(), messages, message_lane::size(l.messages.in) * sizeof(double));
  put_copies(false, l, message_in_.data());
}

std::vector<message_lane> device_gas::lanes() const {
  std::vector<message_lane> all;
  for (const copy_lane& l : lanes_) all.push_back(l.messages);
  return all;
}

int device_gas::last_ghosts() const {
  for (std::size_t l = lanes_.size(); l-- > 0;)
    if (lanes_[l].what == exchanged::ghosts) return static_cast<int>(l);
  PLX_ASSERT(false && "no ghost cells are exchanged", lanes_.size());
  return -1;
}

std::vector<block_report> device_gas::end_step() {
  const auto blocks = static_cast<std::size_t>(n_blocks_);
  std::vector<block_report> reports = reports_.get(blocks);
  reports_.set(on_, std::vector<block_report>(blocks));
  return reports;
}

void device_gas::add_left(std::span<exact_sum> sums) {
  if (side_face_.empty()) return;
  const std::size_t faces = side_face_.size();
  const step_control c = control_.get(1).front();
  std::vector<double> parts(faces * n_var_);
  on_.from_device(parts.data(), left_parts_.data() + (c.now.steps % steps_kept) * parts.size(),
                  parts.size() * sizeof(double));
  on_.synchronize();
  const double* part = parts.data();
  for (std::size_t i = 0; i < faces; ++i)
    for (int v = 0; v < n_var_; ++v) sums[side_face_[i] * n_var_ + v].add(*part++);
}

void device_gas::upload_part(const mesh::arena& values) {
  carried_ = 0;
  std::vector<const double*> rows;
  for (const mesh::slot_id slot : part_slots_) rows.push_back(values.block(slot));
  copy_to_device(on_, arenas_[now_].data(), rows, stride_);
}

void device_gas::download_part(mesh::arena& values) {
  std::vector<double*> rows;
  for (std::int32_t i = 0; i < n_blocks_; ++i) rows.push_back(values.block(part_slots_[static_cast<std::size_t>(i)]));
  copy_from_device(on_, rows, arenas_[now_].data(), stride_);
}

}  // namespace plx::star::device
