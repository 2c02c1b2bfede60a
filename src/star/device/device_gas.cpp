#include "star/device/device_gas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "mesh/between/gather.hpp"
#include "num/exact_sum.hpp"
#include "star/device/data/large_copies.hpp"
#include "star/device/data/mesh_tables.hpp"
#include "star/device/device_passes_detail.hpp"
#include "star/device/operations.hpp"
#include "star/hydro/state.hpp"

namespace plx::star::device {

namespace {

template <class T>
std::vector<T*> rows_of(T* base, std::size_t rows, std::size_t stride) {
  std::vector<T*> all(rows);
  for (std::size_t i = 0; i < rows; ++i) all[i] = base + i * stride;
  return all;
}

}  // namespace

device_gas::device_gas(machine& on, const gas_options& options)
    : on_(on),
      options_(options),
      fields_(mesh::table_of(fields_of(options.hydro))),
      n_var_(fields_.count),
      left_(n_var_) {
  check_device();
  passes_ = std::make_unique<passes>(*this, options.scheme, options.modules);
  std::vector<double> inflow(static_cast<std::size_t>(mesh::face_count * n_var_), 0.0);
  for (int f = 0; f < mesh::face_count; ++f)
    std::copy(options.sides.inflow[f].begin(), options.sides.inflow[f].end(), inflow.begin() + f * n_var_);
  inflow_.set(on_, inflow);
  const step_control courses[2] = {};
  control_.set(on_, courses);
  records_.reserve(on_, steps_kept);
  no_sums_.resize(static_cast<std::size_t>(steps_kept) * n_var_);
  sums_.set(on_, no_sums_);
  added_.set(on_, std::vector<exact_limbs>(static_cast<std::size_t>(added_copies) * n_var_));
  added_of_steps_.reserve(on_, no_sums_.size());
  marks_changed_.set(on_, std::vector<std::uint64_t>(1));
  changed_here_.reserve(on_, 1);
  on_.synchronize();
}

device_gas::~device_gas() = default;

void device_gas::check_device() {
  const std::size_t there = on_.device().info().group_bytes, needed = group_bytes_of(options_.hydro);
  if (there == 0 || needed <= there) return;
  throw gpu::error({gpu::failure::unsupported, 0, "advance_stage", "",
                    fmt::format("{}, device {}: a step needs {} bytes of shared memory per group of threads, found {}",
                                on_.name(), on_.device().label(), needed, there)});
}

int device_gas::arena_of(int stage) const {
  const int places[] = {now_, a_, b_};
  return places[state_place(stage)];
}

void device_gas::adopt(const mesh::block_mesh& mesh) {
  on_.synchronize();
  carried_ = 0;
  const std::size_t slots_before = slots_;
  n_ = mesh.block_size();
  slots_ = mesh.slot_count();
  stride_ = static_cast<std::size_t>(n_var_) * n_ * n_ * n_;
  for (int i = 0; i < 3; ++i)
    if (i != now_) arenas_[i].reserve(on_, slots_ * stride_);
  arenas_[now_].grow(on_, slots_ * stride_, slots_before * stride_);

  passes_->adopt(mesh, mesh::curve_parts(mesh.block_count()), 0);
  adopt_tables(mesh, mesh_tables(mesh, n_var_, stride_, tile_reach_of(options_.hydro)));
}

void device_gas::adopt_tables(const mesh::block_mesh& mesh, const mesh_tables& t) {
  n_blocks_ = static_cast<int>(t.blocks.size());
  words_known_ = false;
  marks_.set(on_, std::vector<std::uint32_t>(2 * t.blocks.size()));
  words_here_.reserve(on_, 2 * t.blocks.size());
  central_ = mesh.box().prolongation == mesh::limiter::central;
  for (int f = 0; f < mesh::face_count; ++f) side_[f] = static_cast<std::int32_t>(beyond(mesh.box().sides[f]));

  blocks_.set(on_, t.blocks);
  levels_.set(on_, t.levels);
  fills_.set(on_, t.fills);
  corrections_.set(on_, t.corrections);
  sides_.set(on_, t.sides);
  const std::size_t boxes = t.blocks.size() * (n_ / 8) * (n_ / 8) * (n_ / 8);
  if (has_tiles()) {
    tile_items_.set(on_, t.tiles);
    tiles_.reserve(on_, t.blocks.size() * tile_variables(options_.hydro) * mesh::tile_cells(n_));
  }
  if (is_full()) parts_.reserve(on_, boxes * full3d_part_doubles);
  if (options_.hydro.n_species > 0 || options_.hydro.spin) kept_.reserve(on_, boxes * kept_doubles(options_.hydro));
  n_levels_ = static_cast<int>(t.levels.size());
  n_corrections_ = static_cast<int>(t.corrections.size());
  side_face_ = t.side_face;
  fluxes_.reserve(on_, t.flux_doubles);
  slabs_.reserve(on_, t.slab_doubles);
  given_faces_ = t.given;
  given_doubles_ = t.given_doubles;
  given_.reserve(on_, options_.scheme.stages * given_doubles_);
  coarse_tiles_.reserve(on_, t.coarse_doubles);
  left_parts_.reserve(on_, steps_kept * side_face_.size() * n_var_);
  reports_.set(on_, std::vector<block_report>(t.blocks.size()));
  rates_.set(on_, std::vector<double>(slots_, 0.0));
  on_.synchronize();
  for (gpu::graph& g : graph_) g = gpu::graph();
}

void device_gas::upload(const mesh::arena& values) {
  PLX_ASSERT(values.rows() >= slots_ && values.stride() == stride_, values.rows(), slots_);
  carried_ = 0;
  copy_to_device(on_, arenas_[now_].data(), rows_of<const double>(values.base(), slots_, stride_), stride_);
}

void device_gas::download(mesh::arena& values) {
  PLX_ASSERT(values.rows() >= slots_ && values.stride() == stride_, values.rows(), slots_);
  copy_from_device(on_, rows_of<double>(values.base(), slots_, stride_), arenas_[now_].data(), stride_);
}

void device_gas::set_time(const mesh::block_mesh& mesh, double time, double dt) {
  PLX_ASSERT(options_.sides.outside != nullptr);
  std::vector<double> all;
  for (int stage = 0; stage < options_.scheme.stages; ++stage) {
    const std::vector<double> one = given_values(mesh, given_faces_, given_doubles_, n_var_, *options_.sides.outside,
                                                 time + options_.scheme.time_share[stage] * dt);
    all.insert(all.end(), one.begin(), one.end());
  }
  on_.to_device(given_.data(), all.data(), all.size() * sizeof(double));
  on_.synchronize();
}

void device_gas::begin(const step_control& control) {
  step_control c = control;
  c.carried = carried_;
  on_.to_device(control_.data(), &c, sizeof c);
  if (options_.totals_every > 0) sums_.set(on_, no_sums_);
  on_.synchronize();
  steps_at_wait_ = control.now.steps;
}

void device_gas::put_ghosts(const double* from, const step_control* control) {
  if (n_levels_ == 0) return;
  ghosts_arguments g;
  g.fields = fields_;
  g.n = n_, g.n_items = n_levels_;
  g.central = central_;
  std::copy(std::begin(side_), std::end(side_), g.side);
  g.source = from;
  g.inflow = inflow_.data();
  g.slabs = slabs_.data();
  g.coarse_tiles = coarse_tiles_.data();
  g.blocks = blocks_.data();
  g.items = levels_.data();
  g.fills = fills_.data();
  g.control = control;
  on_.launch(make_ghosts, g);
}

tiles_arguments device_gas::tiles_of(int stage) {
  tiles_arguments a;
  a.hydro = options_.hydro;
  a.fields = fields_;
  a.n = n_, a.n_blocks = n_blocks_;
  a.central = central_;
  std::copy(std::begin(side_), std::end(side_), a.side);
  a.source = source(stage);
  a.inflow = inflow_.data();
  a.given = given_of(stage);
  a.tiles = tiles_.data();
  a.coarse_tiles = coarse_tiles_.data();
  a.items = tile_items_.data();
  a.blocks = blocks_.data();
  a.fills = fills_.data();
  a.reports = reports_.data();
  a.control = control_.data();
  return a;
}

stage_arguments device_gas::stage_of(int stage) {
  stage_arguments a;
  a.hydro = options_.hydro;
  a.n = n_, a.n_blocks = n_blocks_, a.stage = stage;
  a.last = stage + 1 == options_.scheme.stages;
  a.weight = options_.scheme.weight[stage];
  a.source = source(stage);
  a.u_old = arenas_[now_].data();
  a.target = target(stage);
  a.slabs = slabs_.data();
  a.inflow = inflow_.data();
  a.given = given_of(stage);
  a.fluxes = fluxes_.data();
  a.blocks = blocks_.data();
  a.reports = reports_.data();
  a.control = control_.data();
  a.tiles = tiles_.data();
  a.parts = parts_.data();
  a.kept = kept_.data();
  a.added = added_in(stage);
  return a;
}

void device_gas::put_tiles(int stage) { on_.launch(gather_tiles, tiles_of(stage)); }
void device_gas::put_stage(const stage_arguments& a) { on_.launch(advance_stage, a); }
void device_gas::put_species_and_spin(const stage_arguments& a) {
  if (a.hydro.n_species > 0) on_.launch(advance_species, a);
  if (a.hydro.spin) on_.launch(advance_spin, a);
}

void device_gas::put_correction(int stage, const double* fluxes) {
  if (n_corrections_ == 0) return;
  correction_arguments a;
  a.hydro = options_.hydro;
  a.n = n_, a.n_items = n_corrections_, a.stage = stage;
  a.last = stage + 1 == options_.scheme.stages;
  a.weight = options_.scheme.weight[stage];
  a.target = target(stage);
  a.fluxes = fluxes;
  a.blocks = blocks_.data();
  a.items = corrections_.data();
  a.reports = reports_.data();
  a.control = control_.data();
  a.added = added_in(stage);
  if (const work_fields& gravity = passes_->gravity()) {
    const pass_view v = passes_->data().view();
    a.potential = v.fields[gravity.potential.index].values;
    a.potential_rows = v.fields[gravity.potential.index].rows;
  }
  on_.launch(correct_fluxes, a);
}

// A stage: first the ghost cells that come from other levels, or tiles with all that are read.
void device_gas::put_whole_stage(int stage, const work_fields& gravity) {
  has_tiles() ? put_tiles(stage) : put_ghosts(source(stage), control_.data());
  stage_arguments a = stage_of(stage);
  if (gravity) {
    const pass_view v = passes_->data().view();
    const pass_view::field_memory &potential = v.fields[gravity.potential.index], &work = v.fields[gravity.work.index];
    a.potential = potential.values, a.potential_rows = potential.rows;
    a.work = work.values, a.work_rows = work.rows;
  }
  put_stage(a);
  put_species_and_spin(a);
  put_side_sums(stage, fluxes_.data());
}

bool device_gas::run_part(double time, double dt, std::int64_t steps, part_exchange& with) {
  step_control c;
  c.dt = dt;
  c.now.time = time;
  c.now.steps = steps;
  c.carried = std::exchange(carried_, 0);
  on_.to_device(control_.data(), &c, sizeof c);
  return passes_->put_with(with);
}

bool device_gas::solve_gravity(part_exchange* with) {
  if (carried_ != 0) return true;
  const step_control c;
  on_.to_device(control_.data(), &c, sizeof c);
  if (with == nullptr)
    passes_->put_first();
  else if (!passes_->put_with(*with, true))
    return false;
  carried_ = 1;
  return true;
}

device_gas::gravity_rows device_gas::rows_of_gravity() const {
  const work_fields& g = passes_->gravity();
  return {&passes_->data().rows(g.field.index), &passes_->data().rows(g.correction.index)};
}

void device_gas::download_gravity(double* field, double* correction) {
  const work_fields& g = passes_->gravity();
  passes_->data().download(on_, g.field.index, field);
  passes_->data().download(on_, g.correction.index, correction);
  on_.synchronize();
}

std::vector<exact_sum> device_gas::sums(std::span<const mesh::slot_id> blocks) const { return passes_->sums(blocks); }

void device_gas::put_check(int stage) {
  check_arguments a;
  a.hydro = options_.hydro;
  a.n = n_, a.n_items = n_blocks_, a.stage = stage;
  a.last = stage + 1 >= options_.scheme.stages;
  a.source = arenas_[arena_of(std::min(stage + 1, options_.scheme.stages))].data();
  a.reports = reports_.data();
  a.blocks = blocks_.data();
  a.control = control_.data();
  a.added = added_in(stage);
  on_.launch(check_blocks, a);
}

void device_gas::put_side_sums(int stage, const double* fluxes) {
  if (side_face_.empty()) return;
  side_arguments a;
  a.n = n_, a.n_var = n_var_, a.n_items = static_cast<int>(side_face_.size());
  a.first = stage == 0;
  a.flux_weight = options_.scheme.flux_weight[stage];
  a.steps_kept = steps_kept;
  a.fluxes = fluxes;
  a.items = sides_.data();
  a.parts = left_parts_.data();
  a.control = control_.data();
  on_.launch(sum_sides, a);
}

void device_gas::put_step() {
  passes_->put();
  if (options_.totals_every > 0)
    put_totals(target(options_.scheme.stages - 1), control_.data(), steps_kept, options_.totals_every, sums_.data());
  put_finish();
}

void device_gas::put_finish() {
  on_.launch(finish_step, {n_blocks_, blocks_.data(), reports_.data(), rates_.data(), control_.data(), steps_kept,
                           records_.data(), n_var_, added_.data(), added_of_steps_.data()});
}

void device_gas::swap_after_step() { std::swap(now_, state_place(options_.scheme.stages) == 2 ? b_ : a_); }

// The new state is stored in place of an old one: as many graphs as there are arenas are used in turn.
void device_gas::step() {
  PLX_ASSERT(put_ < steps_kept, put_);
  gpu::graph& graph = graph_[now_];
  if (!graph) graph = on_.capture([this] { put_step(); });
  on_.launch(graph);
  swap_after_step();
  ++put_;
}

void device_gas::end_step_of_caller() {
  PLX_ASSERT(put_ < steps_kept, put_);
  put_finish();
  on_.synchronize();
  swap_after_step();
  ++put_;
}

step_control device_gas::wait() {
  const step_control c = control_.get(1).front();
  // Steps after the integration stopped were not made: their results hold older states.
  const std::int64_t been = c.now.steps - steps_at_wait_;
  for (std::int64_t s = been; s < put_; ++s) swap_after_step();
  collect_results(steps_at_wait_, c.now.steps);
  put_ = 0;
  steps_at_wait_ = c.now.steps;
  carried_ = c.carried;
  return c;
}

std::vector<std::pair<const char*, double>> device_gas::time_parts(int repeats) {
  std::vector<std::pair<const char*, double>> all;
  const auto time = [&](const char* name, auto&& put) {
    put();
    on_.synchronize();
    const double begin = monotonic_seconds();
    for (int i = 0; i < repeats; ++i) put();
    on_.synchronize();
    all.emplace_back(name, (monotonic_seconds() - begin) / repeats);
  };
  time("advance_stage", [&] { put_stage(stage_of(0)); });
  if (options_.hydro.n_species > 0) time("advance_species", [&] { on_.launch(advance_species, stage_of(0)); });
  if (options_.hydro.spin) time("advance_spin", [&] { on_.launch(advance_spin, stage_of(0)); });
  if (has_tiles())
    time("gather_tiles", [&] { put_tiles(0); });
  else if (n_levels_ > 0)
    time("make_ghosts", [&] { put_ghosts(source(0), control_.data()); });
  if (!side_face_.empty()) time("sum_sides", [&] { put_side_sums(0, fluxes_.data()); });
  if (n_corrections_ > 0) time("correct_fluxes", [&] { put_correction(0, fluxes_.data()); });
  time("finish_step", [&] { put_finish(); });
  return all;
}

void device_gas::collect_results(std::int64_t begin, std::int64_t end) {
  results_.assign(static_cast<std::size_t>(end - begin), {});
  if (begin == end) return;
  const std::vector<step_record> records = records_.get(steps_kept);
  for (std::int64_t s = begin + 1; s <= end; ++s)
    results_[static_cast<std::size_t>(s - begin - 1)].course = records[static_cast<std::size_t>(s % steps_kept)];
  if (!side_face_.empty()) collect_left(begin);
  if (options_.totals_every > 0) collect_totals(begin);
  collect_added(begin);
}

void device_gas::collect_left(std::int64_t begin) {
  const std::size_t faces = side_face_.size();
  const std::vector<double> parts = left_parts_.get(steps_kept * faces * n_var_);
  for (std::size_t r = 0; r < results_.size(); ++r) {
    std::vector<exact_sum>& sums = results_[r].left;
    sums.resize(static_cast<std::size_t>(mesh::face_count) * n_var_);
    const auto place = static_cast<std::size_t>((begin + static_cast<std::int64_t>(r)) % steps_kept);
    const double* part = parts.data() + place * faces * n_var_;
    for (std::size_t i = 0; i < faces; ++i)
      for (int v = 0; v < n_var_; ++v) sums[side_face_[i] * n_var_ + v].add(*part++);
    left_.add_step(sums);
  }
}

std::vector<double> device_gas::signal_rates() { return rates_.get(slots_); }

}  // namespace plx::star::device
