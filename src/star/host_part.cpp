#include "star/host_part.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/block_stage.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

task_info info_of(const char* name) { return {probe::register_name(name), probe::no_key}; }

// Records what a device's kernel would report, but with the rate instead of the speed. `part`: device::bad_key().
void note(device::block_report& r, const stage_output& out, int stage, int part, bool last) {
  if (last) r.speed_bits = std::max(r.speed_bits, std::bit_cast<std::uint64_t>(out.max_signal_rate));
  r.density_floors += static_cast<std::uint64_t>(out.density_floors);
  r.pressure_floors += static_cast<std::uint64_t>(out.pressure_floors);
  r.input_floors += static_cast<std::uint64_t>(out.input_floors);
  if (out.first_bad_cell >= 0) r.bad = std::min(r.bad, device::bad_key(stage, part, out.first_bad_cell));
}

}  // namespace

host_part::host_part(gas& g, const setup& s, worker_scratch& scratch)
    : gas_(g),
      setup_(s),
      scratch_(scratch),
      fluxes_(variable_count(s.hydro.n_species), s.domain.block_size),
      left_(variable_count(s.hydro.n_species)) {}

void host_part::adopt(const mesh::curve_parts& parts, int here) {
  const auto own = parts.blocks(gas_.mesh, here);
  blocks_.assign(own.begin(), own.end());
  reports_.assign(blocks_.size(), {});
  fluxes_.resize(gas_.mesh, blocks_);
  left_.resize(gas_.mesh, blocks_);
  borders_ = device::part_borders(gas_.mesh, parts, here, gas_.now.variable_count(), gas_.reach);
}

void host_part::advance(int stage, double dt, double* fluxes) {
  for_loop(info_of("star.host_stage"), std::size_t{0}, blocks_.size(),
           [&](std::size_t i) { advance_block(i, stage, dt, fluxes); });
}

void host_part::advance_block(std::size_t index, int stage, double dt, double* fluxes) {
  const mesh::block_mesh& m = gas_.mesh;
  const slot_id slot = blocks_[index];
  worker_scratch::one& mine = scratch_.mine();
  const std::uint32_t wanted = mesh::flux_register::wanted_faces(m, slot) | mesh::side_totals::wanted_faces(m, slot);
  const stage_input in = stage_input_of(gas_, source(stage), slot, dt, setup_.scheme.weight[stage], mine);
  stage_output out = stage_output_to(target(stage), slot, wanted, mine);
  star::advance_block(setup_.hydro, in, out, mine.kernel);
  note(reports_[index], out, stage, 0, is_last(stage));
  keep_fluxes(slot, out, dt * setup_.scheme.flux_weight[stage], fluxes);
}

void host_part::keep_fluxes(slot_id slot, const stage_output& out, double weight_s, double* fluxes) {
  const mesh::block_mesh& m = gas_.mesh;
  const std::uint32_t kept = mesh::flux_register::wanted_faces(m, slot);
  const std::uint32_t sides = mesh::side_totals::wanted_faces(m, slot);
  for (int f = 0; f < mesh::face_count; ++f) {
    if ((sides >> f & 1) != 0) left_.add(m, slot, f, out.face_flux[f], weight_s);
    if ((kept >> f & 1) == 0) continue;
    const mesh::flux_halo::place at = borders_.fluxes.place_of(slot, f);
    if (at.group < 0)
      fluxes_.put(m, slot, f, out.face_flux[f]);
    else
      std::copy_n(out.face_flux[f], borders_.face_doubles,
                  fluxes + borders_.fluxes_out[at.group] + at.face * borders_.face_doubles);
  }
}

void host_part::put_fluxes_in(int group, const double* message) {
  for (const mesh::fine_face& f : borders_.fluxes.receives()[group].faces) {
    fluxes_.put(gas_.mesh, f.fine, f.face, message);
    message += borders_.face_doubles;
  }
}

void host_part::correct(int stage, double dt) {
  for_loop(info_of("star.host_correction"), std::size_t{0}, blocks_.size(), [&](std::size_t i) {
    if (gas_.mesh.finer_face_count(blocks_[i]) == 0) return;
    correct_block(gas_, setup_.hydro, fluxes_, target(stage), blocks_[i], setup_.scheme.weight[stage] * dt,
                  [&](int part, const stage_output& out) { note(reports_[i], out, stage, part, is_last(stage)); });
  });
}

void host_part::put_ghosts_out(int stage, double* message) const {
  const auto sends = borders_.ghosts.sends();
  for (std::size_t g = 0; g < sends.size(); ++g)
    for_loop(info_of("star.pack"), std::size_t{0}, sends[g].blocks.size(),
             [&](std::size_t b) { pack(sends[g], b, target(stage), message + borders_.ghosts_out[g]); });
}

void host_part::put_ghosts_in(int stage, int group, const double* message) {
  unpack(borders_.ghosts.receives()[group], message, target(stage));
}

std::vector<device::block_report> host_part::end_step() {
  return std::exchange(reports_, std::vector<device::block_report>(blocks_.size()));
}

void host_part::add_left(std::span<exact_sum> sums) {
  const std::vector<exact_sum> mine = left_.take();
  for (std::size_t i = 0; i < mine.size(); ++i) sums[i].add(mine[i]);
}

}  // namespace plx::star
