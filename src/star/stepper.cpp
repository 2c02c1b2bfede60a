#include "star/stepper.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "rt/async.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"
#include "star/block_stage.hpp"
#include "star/round_end.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

task_info stage_info(slot_id slot) {
  static const probe::name_id name = probe::register_name("star.stage");
  return {name, static_cast<std::uint64_t>(slot)};
}

task_info correction_info(slot_id slot) {
  static const probe::name_id name = probe::register_name("star.flux_correction");
  return {name, static_cast<std::uint64_t>(slot)};
}

}  // namespace

// Counters of a block, and the reports of its tasks.
//
// waiting[s]: blocks (itself and those that touch it, on any locality) that have not finished stage s - 1; at zero,
// stage s is submitted. fluxes[s]: fluxes of stage s that are missing: its own and one per finer block across a face;
// at zero, the stage finishes. Each counter is reset for the next step by the task that its zero starts: all decrements
// of this step are done by then, and those of the next step come after its start. Decrements release what was written
// (values, fluxes); the one that reaches zero acquires all of it.
struct alignas(64) stepper::node {
  std::array<input_count, stage_messages::most_stages> waiting{};
  std::array<input_count, stage_messages::most_stages> fluxes{};
  floor_counts floors;
  double signal_rate = 0.0;
  std::int32_t bad_cell = -1;
  std::int16_t bad_stage = 0;
  std::uint16_t worker = 0;
  bool mine = false;
};

stepper::stepper(gas& g, const setup& s, unsigned workers)
    : gas_(g),
      hydro_(s.hydro),
      scheme_(s.scheme),
      scratch_(workers, s.hydro, s.domain.block_size),
      fluxes_(variable_count(s.hydro.n_species), s.domain.block_size),
      messages_(g, fluxes_),
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
  for (const slot_id slot : gas_.own()) {
    node& b = nodes_[slot];
    b.mine = true;
    for (auto& w : b.waiting) w.reset(static_cast<std::int32_t>(m.touching(slot).size()) + 1);
    for (auto& f : b.fluxes) f.reset(m.finer_face_count(slot) + 1);
  }
  fluxes_.resize(m, gas_.own());
  left_.resize(m, gas_.own());
  order_blocks();
  messages_.adopt_mesh();
}

// Blocks that other localities wait for come first, then those next to them, and so on for as many layers as there are
// stages: a block's last stage depends on blocks that many layers away. The rest follows along the curve.
void stepper::order_blocks() {
  const auto own = gas_.own();
  order_.assign(own.begin(), own.end());
  if (gas_.ghosts.empty()) return;
  std::vector<std::uint8_t> distance(gas_.mesh.slot_count(), stage_messages::most_stages);
  for (const slot_id slot : own)
    if (!gas_.ghosts.places(slot).empty()) distance[slot] = 0;
  for (std::uint8_t d = 1; d < stage_messages::most_stages; ++d)
    for (const slot_id slot : own)
      for (const slot_id other : gas_.mesh.touching(slot))
        if (distance[slot] > d && nodes_[other].mine && distance[other] == d - 1) distance[slot] = d;
  std::stable_sort(order_.begin(), order_.end(), [&](slot_id a, slot_id b) { return distance[a] < distance[b]; });
}

std::optional<bad_cell> stepper::advance(double dt) {
  dt_ = dt;
  run_step();
  const auto bad = agree();
  if (!bad) commit();
  for (const slot_id slot : gas_.own()) nodes_[slot].floors = {}, nodes_[slot].bad_cell = -1;
  return bad;
}

// Runs until all local blocks and the mirrors on this locality have finished the last stage.
void stepper::run_step() {
  const auto to_come = static_cast<std::int32_t>(order_.size() + gas_.ghosts.receives().size());
  round_end end(to_come > 0 ? 1 : 0);
  end_ = &end;
  unfinished_.reset(to_come);
  gas_.net.open(*this);
  // A worker takes its newest task first: submitted in reverse, blocks start in their order.
  for (std::size_t i = order_.size(); i-- > 0;) post_stage(order_[i], 0, nullptr);
  const bool whole = end.wait();
  gas_.net.close();
  while (tasks_.load(std::memory_order_acquire) > 0) this_thread::yield();  // pairs with the end of a task
  unfinished_.passed();
  if (!whole) end.fail();
}

void stepper::post_stage(slot_id slot, int stage, input_count* inputs) {
  const bool counted = !gas_.net.is_alone();
  if (counted) tasks_.fetch_add(1, std::memory_order_relaxed);
  const auto run = [this, slot, stage, counted] {
    run_stage(slot, stage);
    if (counted) tasks_.fetch_sub(1, std::memory_order_release);
  };
  inputs != nullptr ? inputs->post(stage_info(slot), run) : post(stage_info(slot), run);
}

void stepper::run_stage(slot_id slot, int stage) {
  const mesh::block_mesh& m = gas_.mesh;
  node& b = nodes_[slot];
  b.waiting[stage].reset(static_cast<std::int32_t>(m.touching(slot).size()) + 1);
  worker_scratch::one& mine = scratch_.mine();
  b.worker = static_cast<std::uint16_t>(*worker_index());

  const std::uint32_t to_register = mesh::flux_register::wanted_faces(m, slot);
  const std::uint32_t to_sides = mesh::side_totals::wanted_faces(m, slot);
  const stage_input in = stage_input_of(gas_, source(stage), slot, dt_, scheme_.weight[stage], mine);
  stage_output out = stage_output_to(target(stage), slot, to_register | to_sides, mine);
  advance_block(hydro_, in, out, mine.kernel);

  b.signal_rate = 0.0;
  note(slot, stage, out);
  keep_fluxes(slot, stage, out, to_register, to_sides);
  // From here on other tasks may advance the block: `b` must not be used.
  fluxes_arrived(slot, stage);
}

void stepper::keep_fluxes(slot_id slot, int stage, const stage_output& out, std::uint32_t to_register,
                          std::uint32_t to_sides) {
  const mesh::block_mesh& m = gas_.mesh;
  stage_messages::full full;
  for (int f = 0; f < mesh::face_count; ++f) {
    if ((to_register >> f & 1) != 0 && !messages_.put_flux(slot, f, stage, out.face_flux[f], full))
      fluxes_.put(m, slot, f, out.face_flux[f]);
    if ((to_sides >> f & 1) != 0) left_.add(m, slot, f, out.face_flux[f], dt_ * scheme_.flux_weight[stage]);
  }
  for (const mesh::face_neighbour& coarse : m.coarser_face_neighbours(slot))
    if (nodes_[coarse.slot].mine) fluxes_arrived(coarse.slot, stage);
  messages_.send(full);
}

void stepper::fluxes_arrived(slot_id slot, int stage) {
  const int finer = gas_.mesh.finer_face_count(slot);
  if (finer == 0) return finish(slot, stage);  // its own fluxes were the only input
  input_count& fluxes = nodes_[slot].fluxes[stage];
  if (!fluxes.arrive()) return;
  fluxes.reset(finer + 1);
  const bool counted = !gas_.net.is_alone();
  if (counted) tasks_.fetch_add(1, std::memory_order_relaxed);
  fluxes.post(correction_info(slot), [this, slot, stage, counted] {
    correct(slot, stage);
    finish(slot, stage);
    if (counted) tasks_.fetch_sub(1, std::memory_order_release);
  });
}

void stepper::correct(slot_id slot, int stage) {
  correct_block(gas_, hydro_, fluxes_, target(stage), slot, scheme_.weight[stage] * dt_,
                [&](int, const stage_output& out) { note(slot, stage, out); });
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
  messages_.put_block(slot, stage, target(stage));
  if (stage + 1 == scheme_.stages) return one_finished();
  count_for_neighbours(slot, stage);
}

// A block, local or remote, has finished a stage.
void stepper::count_for_neighbours(slot_id slot, int stage) {
  const auto one = [&](slot_id s) {
    node& b = nodes_[s];
    if (!b.mine) return;
    input_count& all = b.waiting[stage + 1];
    if (all.arrive()) post_stage(s, stage + 1, &all);
  };
  const input_count::moment now;
  for (const slot_id other : gas_.mesh.touching(slot)) one(other);
  one(slot);
}

void stepper::one_finished() {
  if (unfinished_.arrive()) end_->end();
}

std::optional<bad_cell> stepper::first_bad() const {
  std::optional<bad_cell> first;
  for (const slot_id slot : gas_.own()) {
    const node& b = nodes_[slot];
    if (b.bad_cell < 0 || (first && b.bad_stage >= first->stage)) continue;
    const double* u = gas_.now.block(slot) + b.bad_cell;
    const std::ptrdiff_t cells = gas_.now.cells();
    first = {slot, b.bad_stage, b.bad_cell, u[i_density * cells], u[i_energy * cells]};
  }
  return first;
}

floor_counts stepper::own_floors() const {
  floor_counts sum;
  for (const slot_id slot : gas_.own()) sum.add(nodes_[slot].floors);
  return sum;
}

double stepper::largest_rate() const {
  double largest = 0.0;
  for (const slot_id slot : gas_.own()) largest = std::max(largest, nodes_[slot].signal_rate);
  return largest;
}

void stepper::commit() {
  for (const slot_id slot : gas_.own()) gas_.signal_rate[slot] = nodes_[slot].signal_rate;
  std::swap(gas_.now, target(scheme_.stages - 1));
}

}  // namespace plx::star
