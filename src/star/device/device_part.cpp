// A device_gas with a part of a mesh: its exchange with the others, and steps stage by stage.
#include <algorithm>

#include "base/assert.hpp"
#include "star/device/data/mesh_tables.hpp"
#include "star/device/device_gas.hpp"
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
  n_ = mesh.block_size();
  stride_ = static_cast<std::size_t>(n_var_) * n_ * n_ * n_;
  borders_ = part_borders(mesh, parts, here, n_var_, is_full() ? mesh::reach::full : mesh::reach::faces);
  give_rows(mesh, parts, here);
  for (device_memory<double>& a : arenas_) a.reserve(on_, slots_ * stride_);
  const mesh_tables t(mesh, n_var_, stride_, is_full(), {parts.begin(here), parts.end(here)}, row_of_);
  std::vector<copy_item> copies;
  const auto add_face = [&](std::int64_t flux, std::size_t message) {
    copies.push_back({flux, static_cast<std::int64_t>(message), {n_, n_, 1}, 0});
  };
  for (std::size_t g = 0; g < borders_.fluxes.sends().size(); ++g) {
    std::size_t at = borders_.fluxes_out[g];
    for (const mesh::fine_face& f : borders_.fluxes.sends()[g].faces) {
      add_face(t.blocks[mesh.position(f.fine) - parts.begin(here)].flux[f.face], at);
      at += borders_.face_doubles;
    }
  }
  copies_begin_[1] = copies.size();
  for (std::size_t g = 0; g < borders_.fluxes.receives().size(); ++g) {
    std::size_t at = borders_.fluxes_in[g];
    for (const mesh::fine_face& f : borders_.fluxes.receives()[g].faces) {
      add_face(flux_in(t, f), at);
      at += borders_.face_doubles;
    }
  }
  copies_begin_[2] = copies.size();
  for (std::size_t g = 0; g < borders_.ghosts.sends().size(); ++g)
    add_boxes(borders_.ghosts.sends()[g], row_of_, n_, n_var_, stride_,
              static_cast<std::int64_t>(borders_.ghosts_out[g]), copies);
  copies_begin_[3] = copies.size();
  for (std::size_t g = 0; g < borders_.ghosts.receives().size(); ++g)
    add_boxes(borders_.ghosts.receives()[g], row_of_, n_, n_var_, stride_,
              static_cast<std::int64_t>(borders_.ghosts_in[g]), copies);
  copies_begin_[4] = copies.size();
  copies_.set(on_, copies);
  message_out_.reserve(on_, std::max(borders_.fluxes_out.back(), borders_.ghosts_out.back()));
  message_in_.reserve(on_, std::max(borders_.fluxes_in.back(), borders_.ghosts_in.back()));
  adopt_passes(mesh, parts, here);
  adopt_tables(mesh, t);
}

void device_gas::give_rows(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here) {
  const auto own = parts.blocks(mesh, here);
  part_slots_.assign(own.begin(), own.end());
  part_slots_.insert(part_slots_.end(), borders_.ghosts.mirrors().begin(), borders_.ghosts.mirrors().end());
  row_of_.assign(mesh.slot_count(), -1);
  for (std::size_t i = 0; i < part_slots_.size(); ++i) row_of_[part_slots_[i]] = static_cast<std::int32_t>(i);
  slots_ = part_slots_.size();
}

void device_gas::put_copies(bool out, double* values, std::int64_t variable, double* message, int list) {
  const std::size_t begin = copies_begin_[list], end = copies_begin_[list + 1];
  if (begin == end) return;
  copy_arguments a;
  a.n = n_, a.n_var = n_var_, a.n_items = static_cast<int>(end - begin);
  a.out = out;
  a.variable = variable;
  a.values = values;
  a.message = message;
  a.items = copies_.data() + begin;
  on_.launch(copy_boxes, a);
}

void device_gas::put_fluxes_out(double* messages) {
  put_copies(true, fluxes_.data(), std::int64_t{n_} * n_, message_out_.data(), 0);
  on_.copy(messages, message_out_.data(), borders_.fluxes_out.back() * sizeof(double));
}

void device_gas::put_fluxes_in(const double* messages) {
  on_.copy(message_in_.data(), messages, borders_.fluxes_in.back() * sizeof(double));
  put_copies(false, fluxes_.data(), std::int64_t{n_} * n_, message_in_.data(), 1);
}

void device_gas::put_ghosts_out(int stage, double* messages) {
  put_copies(true, target(stage), std::int64_t{n_} * n_ * n_, message_out_.data(), 2);
  on_.copy(messages, message_out_.data(), borders_.ghosts_out.back() * sizeof(double));
}

void device_gas::put_ghosts_in(int stage, const double* messages) {
  on_.copy(message_in_.data(), messages, borders_.ghosts_in.back() * sizeof(double));
  put_copies(false, target(stage), std::int64_t{n_} * n_ * n_, message_in_.data(), 3);
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
  double* to = arenas_[now_].data();
  for (const mesh::slot_id slot : part_slots_) {
    on_.to_device(to, values.block(slot), stride_ * sizeof(double));
    to += stride_;
  }
  on_.synchronize();
}

void device_gas::download_part(mesh::arena& values) {
  const double* from = arenas_[now_].data();
  for (std::int32_t i = 0; i < n_blocks_; ++i, from += stride_)
    on_.from_device(values.block(part_slots_[static_cast<std::size_t>(i)]), from, stride_ * sizeof(double));
  on_.synchronize();
}

}  // namespace plx::star::device
