#include "star/stepper.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "mesh/gather.hpp"
#include "rt/async.hpp"
#include "rt/runtime.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

constexpr int most_stages = 3;

task_info stage_info(slot_id slot) {
  static const probe::name_id name = probe::register_name("star.stage");
  return {name, static_cast<std::uint64_t>(slot)};
}

task_info correction_info(slot_id slot) {
  static const probe::name_id name = probe::register_name("star.flux_correction");
  return {name, static_cast<std::uint64_t>(slot)};
}

}  // namespace

// What is counted down for a block, and what its tasks report.
//
// waiting[s]: blocks (itself and those that touch it) that have not finished stage s - 1; at zero, stage s is posted.
// fluxes[s]: fluxes of stage s not yet there: its own and one per finer block across a face; at zero, it finishes.
// Each counter is set for the next step by the task that its zero starts: all decrements of this step are done by then,
// and those of the next step come after its start. Decrements release what was written (values, fluxes); the one that
// reaches zero acquires all of it.
struct alignas(64) stepper::node {
  std::array<std::atomic<std::int32_t>, most_stages> waiting{};
  std::array<std::atomic<std::int32_t>, most_stages> fluxes{};
  floor_counts floors;
  double signal_rate = 0.0;
  std::int32_t bad_cell = -1;
  std::int16_t bad_stage = 0;
  std::uint16_t worker = 0;
};

stepper::stepper(gas& g, const setup& s, unsigned workers)
    : gas_(g),
      hydro_(s.hydro),
      scheme_(s.scheme),
      scratch_(workers, s.hydro, s.domain.block_size),
      fluxes_(variable_count(s.hydro.n_species), s.domain.block_size),
      left_(variable_count(s.hydro.n_species)) {
  adopt_mesh();
}

stepper::~stepper() = default;

unsigned stepper::worker_of(slot_id slot) const { return nodes_[slot].worker; }

void stepper::adopt_mesh() {
  const mesh::block_mesh& m = gas_.mesh;
  auto fresh = std::make_unique<node[]>(m.slot_count());
  for (std::size_t i = 0; i < std::min(node_count_, m.slot_count()); ++i) fresh[i].worker = nodes_[i].worker;
  nodes_ = std::move(fresh);
  node_count_ = m.slot_count();
  for (const slot_id slot : m.blocks()) {
    node& b = nodes_[slot];
    for (auto& w : b.waiting)
      w.store(static_cast<std::int32_t>(m.touching(slot).size()) + 1, std::memory_order_relaxed);
    for (auto& f : b.fluxes) f.store(m.finer_face_count(slot) + 1, std::memory_order_relaxed);
  }
  fluxes_.resize(m);
  left_.resize(m);
}

std::optional<bad_cell> stepper::advance(double dt) {
  latch done(1);
  dt_ = dt;
  step_done_ = &done;
  unfinished_.store(static_cast<std::int64_t>(gas_.mesh.block_count()), std::memory_order_relaxed);
  // The worker takes the newest of its tasks first: posted backwards, blocks start along the curve.
  const auto blocks = gas_.mesh.blocks();
  for (std::size_t i = blocks.size(); i-- > 0;) post_stage(blocks[i], 0);
  done.wait();
  if (const auto bad = first_bad()) return bad;
  commit();
  return std::nullopt;
}

void stepper::post_stage(slot_id slot, int stage) {
  post(stage_info(slot), [this, slot, stage] { run_stage(slot, stage); });
}

void stepper::run_stage(slot_id slot, int stage) {
  const mesh::block_mesh& m = gas_.mesh;
  node& b = nodes_[slot];
  b.waiting[stage].store(static_cast<std::int32_t>(m.touching(slot).size()) + 1, std::memory_order_relaxed);
  worker_scratch::one& mine = scratch_.mine();
  b.worker = static_cast<std::uint16_t>(*worker_index());

  stage_input in;
  in.tile = mesh::gather_tile(m, source(stage), slot, gas_.sides, mine.tile, mesh::reach::faces);
  in.u_old = gas_.now.block(slot);
  in.n = m.block_size();
  in.dx = m.cell_width(slot);
  in.dt = dt_;
  in.weight = scheme_.weight[stage];
  stage_output out;
  out.u_new = target(stage).block(slot);
  const std::uint32_t to_register = mesh::flux_register::wanted_faces(m, slot);
  const std::uint32_t to_sides = mesh::side_totals::wanted_faces(m, slot);
  for (int f = 0; f < mesh::face_count; ++f)
    if (((to_register | to_sides) >> f & 1) != 0) out.face_flux[f] = mine.face[f];
  advance_block(hydro_, in, out, mine.kernel);

  b.signal_rate = 0.0;
  note(slot, stage, out);
  keep_fluxes(slot, stage, out, to_register, to_sides);
  // From here on the block may be advanced by others: no more of `b`.
  fluxes_arrived(slot, stage);
}

void stepper::keep_fluxes(slot_id slot, int stage, const stage_output& out, std::uint32_t to_register,
                          std::uint32_t to_sides) {
  const mesh::block_mesh& m = gas_.mesh;
  for (int f = 0; f < mesh::face_count; ++f) {
    if ((to_register >> f & 1) != 0) fluxes_.put(m, slot, f, out.face_flux[f]);
    if ((to_sides >> f & 1) != 0) left_.add(m, slot, f, out.face_flux[f], dt_ * scheme_.flux_weight[stage]);
  }
  for (const mesh::face_neighbour& coarse : m.coarser_face_neighbours(slot)) fluxes_arrived(coarse.slot, stage);
}

void stepper::fluxes_arrived(slot_id slot, int stage) {
  node& b = nodes_[slot];
  if (b.fluxes[stage].fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const int finer = gas_.mesh.finer_face_count(slot);
  b.fluxes[stage].store(finer + 1, std::memory_order_relaxed);
  if (finer == 0) return finish(slot, stage);
  post(correction_info(slot), [this, slot, stage] {
    correct(slot, stage);
    finish(slot, stage);
  });
}

// The cells along the corrected faces have new values: floors, the tracer and the signal rate once more.
void stepper::correct(slot_id slot, int stage) {
  const mesh::block_mesh& m = gas_.mesh;
  const int n = m.block_size();
  const double dx = m.cell_width(slot);
  double* u = target(stage).block(slot);
  fluxes_.apply(m, slot, scheme_.weight[stage] * dt_ / dx, u);
  for (int f = 0; f < mesh::face_count; ++f) {
    if (m.across(slot, f).kind != mesh::relation::finer) continue;
    cell_box box{{0, 0, 0}, {n, n, n}};
    const int axis = mesh::face_axis(f);
    (mesh::face_is_upper(f) ? box.lower[axis] = n - 1 : box.upper[axis] = 1);
    stage_output out;
    check_cells(hydro_, u, n, dx, box, out);
    note(slot, stage, out);
  }
}

void stepper::note(slot_id slot, int stage, const stage_output& out) {
  node& b = nodes_[slot];
  b.signal_rate = std::max(b.signal_rate, out.max_signal_rate);
  b.floors.add(out);
  if (out.first_bad_cell < 0 || b.bad_cell >= 0) return;
  b.bad_cell = out.first_bad_cell;
  b.bad_stage = static_cast<std::int16_t>(stage);
}

void stepper::finish(slot_id slot, int stage) {
  if (stage + 1 == scheme_.stages) {
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) step_done_->count_down();
    return;
  }
  const auto one_finished = [&](slot_id s) {
    if (nodes_[s].waiting[stage + 1].fetch_sub(1, std::memory_order_acq_rel) == 1) post_stage(s, stage + 1);
  };
  for (const slot_id other : gas_.mesh.touching(slot)) one_finished(other);
  one_finished(slot);
}

std::optional<bad_cell> stepper::first_bad() const {
  std::optional<bad_cell> first;
  for (const slot_id slot : gas_.mesh.blocks()) {
    const node& b = nodes_[slot];
    if (b.bad_cell >= 0 && (!first || b.bad_stage < first->stage)) first = {slot, b.bad_stage, b.bad_cell};
  }
  return first;
}

void stepper::commit() {
  for (const slot_id slot : gas_.mesh.blocks()) {
    node& b = nodes_[slot];
    gas_.signal_rate[slot] = b.signal_rate;
    floors_.add(b.floors);
    b.floors = {};
  }
  left_.fold(gas_.mesh);
  std::swap(gas_.now, target(scheme_.stages - 1));
}

}  // namespace plx::star
