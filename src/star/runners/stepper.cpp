#include "star/runners/stepper.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "mesh/between/gather.hpp"
#include "probe/record/work.hpp"
#include "star/runners/gravity_field.hpp"
#include "star/state/gas.hpp"
#include "star/step/gas_step.hpp"
#include "star/step/portable_pass.hpp"
#include "step/border.hpp"
#include "step/node_graph.hpp"
#include "step/task_runner.hpp"

namespace plx::star {

using mesh::slot_id;
using step::stencil;

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

namespace {

// ---- what localities exchange in a step

// The cells of `values` that tiles of other localities' blocks are gathered from. Requires: both arguments outlive it.
class ghost_border final : public step::border {
 public:
  ghost_border(const gas& g, mesh::arena& values) : gas_(g), values_(values) {}

  void adopt(const step::node_graph&, const step::border_use&) override {
    sends_ = border_groups(gas_.ghosts.sends());
    receives_ = border_groups(gas_.ghosts.receives());
  }
  void pack(std::size_t group, std::size_t index, double* message) const override {
    mesh::pack(gas_.ghosts.sends()[group], index, values_, message);
  }
  void unpack(std::size_t group, const double* message) override {
    mesh::unpack(gas_.ghosts.receives()[group], message, values_);
  }

 private:
  const gas& gas_;
  mesh::arena& values_;
};

// The coarsened fluxes of fine blocks whose coarser neighbours belong to other localities. Requires: as above.
class flux_border final : public step::border {
 public:
  flux_border(const gas& g, mesh::flux_register& fluxes) : gas_(g), fluxes_(fluxes) {}

  void adopt(const step::node_graph&, const step::border_use&) override {
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
  void pack(std::size_t group, std::size_t index, double* message) const override {
    const auto& faces = gas_.between.sends()[group].faces;
    for (std::uint32_t i = first_face_[group][index]; i < first_face_[group][index + 1]; ++i)
      std::copy_n(fluxes_.coarsened(faces[i].fine, faces[i].face), fluxes_.quarter_doubles(),
                  message + i * fluxes_.quarter_doubles());
  }
  void unpack(std::size_t group, const double* message) override {
    for (const mesh::fine_face& f : gas_.between.receives()[group].faces) {
      fluxes_.put_coarsened(gas_.mesh, f.fine, f.face, message);
      message += fluxes_.quarter_doubles();
    }
  }

 private:
  const gas& gas_;
  mesh::flux_register& fluxes_;
  std::vector<std::vector<std::uint32_t>> first_face_;  // by group of sends() and node, and one more
};

// ---- the kernels on a block

// The kernel's input: the block's tile of `from`, the state that the stage reads, gathered into the scratch.
stage_input stage_input_of(const gas& g, const mesh::arena& from, mesh::slot_id slot, double dt,
                           const integrator& scheme, int stage, worker_scratch::one& mine) {
  stage_input in;
  in.tile = mesh::gather_tile(g.mesh, from, slot, g.sides, mine.tile, g.reach, g.stage_time[stage]);
  in.u_old = g.now.block(slot);
  in.n = g.mesh.block_size();
  in.place = place_of(g.mesh, slot);
  in.dt = dt;
  in.weight = scheme.weight[stage];
  return in;
}

// The kernel's output: the block in `to`, and the fluxes through these faces (bits) into the scratch.
stage_output stage_output_to(mesh::arena& to, mesh::slot_id slot, std::uint32_t faces, worker_scratch::one& mine) {
  stage_output out;
  out.u_new = to.block(slot);
  for (int f = 0; f < mesh::face_count; ++f)
    if ((faces >> f & 1) != 0) out.face_flux[f] = mine.face[f];
  return out;
}

cell_box cells_along(int face, int n) {
  cell_box box{{0, 0, 0}, {n, n, n}};
  const int axis = mesh::face_axis(face);
  (mesh::face_is_upper(face) ? box.lower[axis] = n - 1 : box.upper[axis] = 1);
  return box;
}

// Adds the potential energy of the mass to the flux of energy through a face of the domain, where the potential is that
// of the cells along it.
void add_potential_energy(const double* potential, int face, int n, double* flux) {
  const int edge = n + 4, area = n * n, axis = mesh::face_axis(face), end = mesh::face_is_upper(face) ? n + 1 : 2;
  for (int c = 0; c < area; ++c) {
    const int s = c % n + 2, t = c / n + 2;
    const int cell = axis == 0   ? (t * edge + s) * edge + end
                     : axis == 1 ? (t * edge + end) * edge + s
                                 : (end * edge + t) * edge + s;
    flux[i_energy * area + c] = flux[i_energy * area + c] + flux[i_density * area + c] * potential[cell];
  }
}

// Replaces the block's fluxes in `to` by those of finer neighbours. The cells along the corrected faces get new values,
// so check(cell_box) evaluates floors, the tracer and the signal rate again for them.
template <class Check>
void correct_block(const gas& g, const mesh::flux_register& fluxes, mesh::arena& to, mesh::slot_id slot,
                   double weighted_dt, Check&& check) {
  const mesh::block_mesh& m = g.mesh;
  const double dx = m.cell_width(slot);
  fluxes.apply(m, slot, weighted_dt / dx, to.block(slot));
  for (int f = 0; f < mesh::face_count; ++f)
    if (m.across(slot, f).kind == mesh::relation::finer) check(cells_along(f, m.block_size()));
}

}  // namespace

// The passes of a step on workers.
class stepper::passes final : public gas_passes {
 public:
  passes(stepper& s, const std::vector<const step_module*>& modules)
      : s_(s), has_modules_(!modules.empty()), recipe_(gas_step(s.scheme_, *this, modules)) {}

  const step::recipe& all() const { return recipe_; }
  void adopt(const step::node_graph& nodes) {
    if (has_modules_) data_.adopt(nodes, rows_of_fields(nodes), module_tables());
  }
  // The sums of modules over these blocks.
  std::vector<exact_sum> sums(std::span<const slot_id> blocks) const {
    std::vector<exact_sum> all;
    for (const int index : sum_fields()) {
      const std::size_t first = all.size();
      all.resize(first + static_cast<std::size_t>(data_.view().fields[index].doubles));
      for (const slot_id b : blocks)
        for (std::size_t i = first; i < all.size(); ++i) all[i].add(data_.view().field(index, b)[i - first]);
    }
    return all;
  }
  void begin() {
    if (has_modules_) data_.set_places(s_.gas_.now, s_.gas_.stage_a, s_.gas_.stage_b);
  }

  void copy_gravity(gravity_field& to) const { star::copy_gravity(data_.view(), gravity_, s_.gas_, to); }

  std::unique_ptr<step::pass_kernel> advance(int stage, work_fields gravity) override {
    gravity_ = gravity;
    const auto of = [this](const node_field& f, slot_id b) {
      return f.index < 0 ? nullptr : data_.view().field(f.index, b);
    };
    return step::kernel([this, stage, gravity, of](slot_id b) {
      s_.advance_block(b, stage, of(gravity.potential, b), of(gravity.work, b));
    });
  }
  std::unique_ptr<step::pass_kernel> correct_fluxes(int stage) override {
    return step::kernel([this, stage](slot_id b) {
      const int potential = gravity_.potential.index;
      s_.correct_block(b, stage, potential < 0 ? nullptr : data_.view().field(potential, b));
    });
  }
  std::unique_ptr<step::pass_kernel> check_state(int stage) override {
    return step::kernel([this, stage](slot_id b) { s_.check_block(b, stage); });
  }
  std::vector<step::transfer> state_transfers(int stage) override {
    return {{stencil::neighbours, keep(std::make_unique<ghost_border>(s_.gas_, s_.state(stage)))}};
  }
  std::vector<step::transfer> flux_transfers(int) override {
    return {{stencil::finer_faces, keep(std::make_unique<flux_border>(s_.gas_, s_.fluxes_))}};
  }
  std::unique_ptr<step::pass_kernel> portable(std::unique_ptr<portable_code> code, int stage) override {
    return step::kernel([this, stage, code = std::move(code)](step::node_id node) { code->run(view(stage), node); });
  }

 private:
  std::vector<step::transfer> field_transfers(int index, const std::vector<stencil>& read_at) override {
    step::node_values& values = data_.field(index, module_fields()[static_cast<std::size_t>(index)].info.doubles);
    if (read_at.empty()) return {};
    step::border* const by = keep(std::make_unique<step::node_border>(values, read_at));
    std::vector<step::transfer> all;
    for (const stencil at : read_at) all.push_back({at, by});
    return all;
  }
  step::border* keep(std::unique_ptr<step::border> b) { return borders_.emplace_back(std::move(b)).get(); }
  pass_view view(int stage) const {
    pass_view v = data_.view();
    set_stage(s_.scheme_, stage, v);
    v.time = &s_.time_, v.dt = &s_.dt_, v.carried = &s_.carried_;
    return v;
  }

  stepper& s_;
  bool has_modules_;
  std::vector<std::unique_ptr<step::border>> borders_;
  host_pass_data data_;
  work_fields gravity_;  // set while the recipe is made
  step::recipe recipe_;
};

stepper::stepper(gas& g, const setup& s, unsigned workers)
    : gas_(g),
      hydro_(s.hydro),
      scheme_(s.scheme),
      work_of_stage_(star::work_of_stage(s.hydro, s.domain.block_size)),
      scratch_(workers, s.hydro, s.domain.block_size),
      fluxes_(variable_count(s.hydro), s.domain.block_size),
      left_(variable_count(s.hydro)),
      added_(variable_count(s.hydro)) {
  passes_ = std::make_unique<passes>(*this, s.modules);
  runner_ = std::make_unique<step::task_runner>(passes_->all(), g.net);
  adopt_mesh();
}

stepper::~stepper() = default;

mesh::arena& stepper::state(int stage) {
  switch (state_place(stage)) {
    case 1:
      return gas_.stage_a;
    case 2:
      return gas_.stage_b;
    default:
      return gas_.now;
  }
}

unsigned stepper::worker_of(slot_id slot) const { return runner_->worker_of(slot); }

const step::node_graph& stepper::nodes() const { return runner_->nodes(); }

void stepper::adopt_mesh() {
  carried_ = 0;
  reports_.assign(gas_.mesh.slot_count(), {});
  fluxes_.resize(gas_.mesh, gas_.own());
  left_.resize(gas_.mesh, gas_.own());
  runner_->adopt(gas_.mesh, gas_.parts);
  passes_->adopt(runner_->nodes());
}

std::optional<bad_cell> stepper::advance(double dt, double time) {
  dt_ = dt, time_ = time;
  passes_->begin();
  runner_->run();
  const auto bad = agree();
  carried_ = bad ? 0 : 1;
  if (!bad) commit();
  for (const slot_id slot : gas_.own()) reports_[slot].floors = {}, reports_[slot].bad_cell = -1;
  return bad;
}

bool stepper::copy_gravity(gravity_field& to) const {
  if (carried_ != 0) passes_->copy_gravity(to);
  return carried_ != 0;
}

void stepper::advance_block(slot_id slot, int stage, const double* potential, double* work) {
  const mesh::block_mesh& m = gas_.mesh;
  worker_scratch::one& mine = scratch_.mine();
  const std::uint32_t to_register = mesh::flux_register::wanted_faces(m, slot);
  const std::uint32_t to_sides = mesh::side_totals::wanted_faces(m, slot);
  stage_input in = stage_input_of(gas_, state(stage), slot, dt_, scheme_, stage, mine);
  in.potential = potential;
  stage_output out = stage_output_to(state(stage + 1), slot, to_register | to_sides, mine);
  out.work = work;
  scratch_.with_sums(scheme_.state_weight(stage), [&](floor_sums to) -> const stage_output& {
    out.added = to;
    out.added.potential = potential;
    star::advance_block(hydro_, in, out, mine.kernel);
    return out;
  });
  probe::count_work(work_of_stage_.flops, work_of_stage_.bytes);
  reports_[slot].signal_rate = 0.0;
  note(slot, stage, out);
  for (int f = 0; f < mesh::face_count; ++f) {
    if (gas_.spin >= 0 && ((to_register | to_sides) >> f & 1) != 0)
      complete_spin_flux(m, slot, f, gas_.spin, out.face_flux[f]);
    if ((to_register >> f & 1) != 0) fluxes_.put(m, slot, f, out.face_flux[f]);
    if ((to_sides >> f & 1) != 0 && potential != nullptr) add_potential_energy(potential, f, in.n, out.face_flux[f]);
    if ((to_sides >> f & 1) != 0) left_.add(m, slot, f, out.face_flux[f], dt_ * scheme_.flux_weight[stage]);
  }
}

void stepper::correct_block(slot_id slot, int stage, const double* potential) {
  mesh::arena& to = state(stage + 1);
  star::correct_block(gas_, fluxes_, to, slot, scheme_.weight[stage] * dt_,
                      [&](const cell_box& box) { check_cells_of(to, slot, stage, potential, box); });
}

void stepper::check_cells_of(mesh::arena& values, slot_id slot, int stage, const double* potential,
                             const cell_box& box) {
  stage_output out;
  scratch_.with_sums(scheme_.state_weight(stage), [&](floor_sums to) -> const stage_output& {
    out.added = to;
    out.added.potential = potential;
    check_cells(hydro_, values.block(slot), gas_.mesh.block_size(), place_of(gas_.mesh, slot), box, out);
    return out;
  });
  note(slot, stage, out);
}

void stepper::check_block(slot_id slot, int stage) {
  const int n = gas_.mesh.block_size();
  check_cells_of(state(std::min(stage + 1, scheme_.stages)), slot, stage, nullptr, {{0, 0, 0}, {n, n, n}});
}

void stepper::note(slot_id slot, int stage, const stage_output& out) {
  block_report& b = reports_[slot];
  b.signal_rate = std::max(b.signal_rate, out.max_signal_rate);
  b.floors.add(out);
  if (out.first_bad_cell < 0 || b.bad_cell >= 0) return;
  b.bad_cell = out.first_bad_cell;
  b.bad_stage = static_cast<std::int16_t>(stage);
}

std::optional<bad_cell> stepper::first_bad() const {
  std::optional<bad_cell> first;
  for (const slot_id slot : gas_.own()) {
    const block_report& b = reports_[slot];
    if (b.bad_cell < 0 || (first && b.bad_stage >= first->stage)) continue;
    const double* u = gas_.now.block(slot) + b.bad_cell;
    const std::ptrdiff_t cells = gas_.now.cells();
    first = {slot, b.bad_stage, b.bad_cell, u[i_density * cells], u[i_energy * cells]};
  }
  return first;
}

// Returns the same outcome on all localities.
std::optional<bad_cell> stepper::agree() {
  step_account mine;
  floor_counts floors;
  for (const slot_id slot : gas_.own()) {
    mine.signal_rate = std::max(mine.signal_rate, reports_[slot].signal_rate);
    floors.add(reports_[slot].floors);
  }
  mine.take(floors);
  mine.wishes = std::exchange(my_wishes_, 0);
  if (const auto bad = first_bad()) mine.take(gas_, *bad);
  std::vector<exact_sum> sums = left_.take(), added = scratch_.take_added();
  const std::size_t n_left = sums.size();
  added.resize(static_cast<std::size_t>(gas_.now.variable_count()));
  sums.insert(sums.end(), added.begin(), added.end());
  const step_account all = agree_on_step(gas_.net, mine, sums);
  wishes_ = static_cast<std::uint32_t>(all.wishes);
  if (all.is_bad()) return all.bad_found(gas_);
  signal_rate_ = all.signal_rate;
  floors_.add(all.floors_found());
  left_.add_step(std::span(sums).first(n_left));
  added_.add(std::span(sums).subspan(n_left));
  return std::nullopt;
}

void stepper::commit() {
  for (const slot_id slot : gas_.own()) gas_.signal_rate[slot] = reports_[slot].signal_rate;
  sums_ = passes_->sums(gas_.own());
  std::swap(gas_.now, state(scheme_.stages));
}

}  // namespace plx::star
