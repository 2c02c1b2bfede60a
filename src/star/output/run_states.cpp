// Writes the states of a run: mesh files, checkpoints and output series, by one locality or by all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "mesh/files/athdf.hpp"
#include "mesh/files/checkpoint.hpp"
#include "probe/record/recorder.hpp"
#include "rt/runtime.hpp"
#include "star/diagnostics/star_diagnostics.hpp"
#include "star/driver/balancer.hpp"
#include "star/driver/options.hpp"
#include "star/driver/simulation.hpp"
#include "star/output/run_files.hpp"
#include "star/output/series/images.hpp"
#include "star/step/gas_step.hpp"
#include "star/tracers/tracers.hpp"

namespace plx::star {

// ---- mesh files: variables of all blocks, and per block its cost, its owner and the owner's idle rate

namespace {

/// The sizes of the code units, and of that of the temperature in kelvin if it is known, and the weights of species by
/// the names of their variables, as attributes of files.
std::vector<std::pair<std::string, double>> attributes_of(const setup& s) {
  auto all = star::attributes_of(s.code_units);
  if (s.kelvin > 0.0) all.emplace_back("TemperatureUnit", s.kelvin);
  const std::vector<output_variable> variables = variables_of_mesh_files(s.species);
  for (std::size_t i = 0; i < s.species.weights.size(); ++i)
    all.emplace_back("Weight_" + variables[variables.size() - s.species.weights.size() + i].name_in_mesh,
                     s.species.weights[i]);
  return all;
}

mesh::athdf_info info_of(const simulation& sim, const mesh_content& content) {
  mesh::athdf_info info;
  info.time = sim.time();
  info.cycle = sim.steps();
  info.datasets = {{"prim", {}}};
  for (const output_variable& v : content.variables) info.datasets[0].variables.push_back(v.name_in_mesh);
  info.numbers = attributes_of(sim.settings());
  info.single_precision = content.single_precision;
  return info;
}

/// The tables of local blocks.
struct tables {
  std::vector<double> cost, updates, idle, locality_idle;
  std::vector<std::int32_t> owner, locality;

  tables(simulation& sim, const idle_rates& rates) {
    const gas& g = sim.state();
    for (const mesh::slot_id slot : g.own()) {
      const unsigned worker = sim.worker_of(slot);
      cost.push_back(sim.costs().of(slot).seconds);
      updates.push_back(sim.costs().of(slot).steps);
      owner.push_back(static_cast<std::int32_t>(worker));
      idle.push_back(worker < rates.workers.size() ? rates.workers[worker] : 0.0);
    }
    locality.assign(owner.size(), g.net.here());
    locality_idle.assign(owner.size(), rates.locality);
  }
  void put_into(mesh::athdf_info& info) const {
    info.cost_s = cost;
    info.updates = updates;
    info.owner = owner;
    info.idle_rate = idle;
    info.locality = locality;
    info.locality_idle_rate = locality_idle;
  }
};

/// Calls fill_variables(), and checks whether the values fit into the file's precision.
class checked_filler {
 public:
  checked_filler(const simulation& sim, const mesh_content& content) : sim_(sim), content_(content) {}
  void operator()(mesh::slot_id slot, int, double* out) {
    const gas& g = sim_.state();
    fill_variables(content_.variables, g, sim_.settings().hydro, slot, out, content_.gravity);
    if (!content_.single_precision) return;
    const std::size_t count = content_.variables.size() * static_cast<std::size_t>(g.now.cells());
    for (std::size_t i = 0; i < count; ++i) largest_ = std::max(largest_, std::abs(out[i]));
  }
  result<void> check(const std::string& path) const {
    if (largest_ <= std::numeric_limits<float>::max()) return {};
    std::remove(path.c_str());
    return error{
        fmt::format("cannot write '{}': a value of {:g} does not fit into single precision; set "
                    "output.precision = \"double\", or the same of its [[output.series]]",
                    path, largest_)};
  }

 private:
  const simulation& sim_;
  const mesh_content& content_;
  double largest_ = 0.0;
};

/// The variables, by default rho vel1 vel2 vel3 press s0 s1 ..., in dataset "prim". Cost: seconds since the last call
/// of costs().clear(); Updates: the steps that these advanced the block by. Owner: the worker that last advanced the
/// block; IdleRate: that worker's share of time without work.
result<void> write_mesh_file(const std::string& path, simulation& sim, const mesh_content& content,
                             const idle_rates& idle) {
  const gas& g = sim.state();
  mesh::athdf_info info = info_of(sim, content);
  const tables own(sim, idle);
  own.put_into(info);
  checked_filler fill(sim, content);
  if (auto r = mesh::write_athdf(path, g.mesh, info, fill); !r) return r;
  return fill.check(path);
}

/// The same for local blocks, with Locality and LocalityIdleRate of this locality.
result<void> write_mesh_part(const std::string& path, simulation& sim, const mesh_content& content,
                             const idle_rates& idle) {
  const gas& g = sim.state();
  if (g.own().empty()) return {};
  mesh::athdf_info info = info_of(sim, content);
  const tables own(sim, idle);
  own.put_into(info);
  checked_filler fill(sim, content);
  if (auto r = mesh::write_athdf_part(path, g.own(), g.mesh.block_size(), info, fill); !r) return r;
  return fill.check(path);
}

/// Writes the file that refers to the parts. Shapes: names: by locality.
result<void> write_mesh_of_parts(const std::string& path, const simulation& sim, const mesh_content& content,
                                 const std::vector<std::string>& names) {
  const gas& g = sim.state();
  std::vector<mesh::athdf_part> parts;
  for (int k = 0; k < g.parts.count(); ++k)
    parts.push_back({names[static_cast<std::size_t>(k)], g.parts.blocks(g.mesh, k).size()});
  return mesh::write_athdf_of_parts(path, g.mesh, info_of(sim, content), parts);
}

}  // namespace

idle_rates run_files::measure_idle() {
  const probe::recorder& r = sim_.tasks().recorder();
  idle_s_.resize(r.worker_count(), 0.0);
  used_s_.resize(r.worker_count(), 0.0);
  idle_rates rates;
  double all_idle = 0.0, all_time = 0.0;
  for (unsigned w = 0; w < r.worker_count(); ++w) {
    const probe::worker_times t = r.times(w);
    const double used = t.exec_s + t.overhead_s + t.background_s;
    const double idle = t.idle_s - std::exchange(idle_s_[w], t.idle_s);
    const double whole = idle + used - std::exchange(used_s_[w], used);
    rates.workers.push_back(whole > 0.0 ? idle / whole : 0.0);
    all_idle += idle;
    all_time += whole;
  }
  rates.locality = all_time > 0.0 ? all_idle / all_time : 0.0;
  return rates;
}

result<void> run_files::write_mesh() {
  if (mesh_step_ == sim_.steps() || kept_step_ == sim_.steps()) return {};
  sim_.fetch();
  const std::string path = folder_.mesh_file(summary_.problem, next_mesh_);
  sim_.collect_costs();
  const mesh_content content{variables_of_mesh_files(sim_.settings().species),
                             sim_.options().output.precision == "single"};
  if (auto written = write_mesh_to(path, content, measure_idle()); !written) return written;
  log_info("step {}, time {:g}: wrote {}", sim_.steps(), sim_.time(), path);
  sim_.costs().clear();
  mesh_step_ = sim_.steps();
  kept_step_ = -1;
  ++next_mesh_;
  return {};
}

result<void> run_files::write_mesh_to(const std::string& path, const mesh_content& content, const idle_rates& idle) {
  auto written = alone() ? write_mesh_file(path, sim_, content, idle) : write_parts_of_mesh(path, content, idle);
  if (written && is_root(net())) run_folder::drop_other_parts(path, mark_);
  return written;
}

ledger::values run_files::ledger_values(const std::vector<double>& totals) const {
  const floor_counts& f = sim_.floors();
  ledger::values v{sim_.steps(), totals, {}, {f.density, f.pressure, f.input}, {}};
  for (int k = 0; k < variable_count(sim_.settings().hydro); ++k) {
    v.left.push_back(sim_.left(k));
    v.added.push_back(sim_.added().total(k));
  }
  return v;
}

// The values are on the host: at the start, and after write_mesh().
void run_files::take_rotation() {
  const task_info info{probe::register_name("star.analyses"), probe::no_key};
  const auto rotation = make_analysis("rotation").value();
  ledger_.take_rotation(sim_.tasks().run(
      info, [&] { return analyse(*rotation, sim_.state(), sim_.settings().hydro, sim_.tasks().worker_count())[5]; }));
}

namespace {

/// The row of mass or energy with the larger ledger_row::relative_error(), if that is above `most`.
std::optional<ledger_row> changed_row(const ledger& of, double most) {
  std::optional<ledger_row> worst;
  for (const ledger_row& r : of.rows())
    if ((r.quantity == "mass" || r.quantity == "energy") && !(r.relative_error() <= most) &&
        (!worst || r.relative_error() > worst->relative_error()))
      worst = r;
  return worst;
}

}  // namespace

bool run_files::is_over_limit() const {
  const double limit = sim_.options().run.conservation_limit;
  return limit != 0.0 && has_row(history_table) && changed_row(ledger_, limit).has_value();
}

result<void> run_files::check_conservation() const {
  if (!is_over_limit()) return {};
  const double limit = sim_.options().run.conservation_limit;
  const ledger_row row = *changed_row(ledger_, limit);
  const floor_counts& f = sim_.floors();
  const std::vector<std::string> kept = folder_.checkpoints();
  const std::string unexplained =
      row.conserved == ledger_row::rule::exact
          ? fmt::format(" and {:.3g} is unexplained, together {:.3g}", row.relative(), row.relative_error())
          : "";
  return error{fmt::format(
      "step {}: floors have added {:.3g} to the {}{} of {}; expected magnitudes of at most run.conservation_limit = "
      "{:g}. Floors have raised the density of {} and the pressure of {}; {} with a smaller hydro.cfl, a finer mesh or "
      "lower floors",
      sim_.steps(), row.floors / row.scale, row.quantity, unexplained,
      row.relative_to == "start" ? "its value at the start" : row.relative_to, limit, plural(f.density, "cell"),
      f.pressure, kept.empty() ? "start again" : fmt::format("continue from a checkpoint (--resume {})", kept.back()))};
}

result<void> run_files::write_checkpoint() {
  ledger now = ledger_;
  now.take(ledger_values(sim_.totals()));
  // If floors have changed mass or energy by a tenth, the values of the state are no longer a solution of the problem.
  const bool good = !changed_row(now, 0.1);
  if (good) good_step_ = sim_.steps();
  sim_.fetch();
  mesh::checkpoint_state state;
  state.build =
      fmt::format("plx-star {} ({}, {}, {})", request_.version, request_.git, request_.compiler, request_.build_type);
  state.options = sim_.options().table.toml();
  state.identity = identity_of(sim_.options().table);
  state.numbers = sim_.numbers();
  state.numbers.push_back({"files", {static_cast<double>(next_mesh_), wall_s()}});
  series_.append_to(state.numbers);
  if (diagnostics_ != nullptr) state.numbers.push_back({"diagnostics", diagnostics_->state()});
  state.numbers.push_back({"last_mesh", {static_cast<double>(mesh_step_)}});
  for (const auto& [table, step] : last_rows_)
    state.numbers.push_back({last_row_of + table, {static_cast<double>(step)}});
  state.numbers.push_back({"ledger", ledger_.state()});
  state.numbers.push_back({"good_step", {static_cast<double>(good_step_)}});
  if (auto r = at_root([&] { return sync_tables(); }); !r) return r;
  const std::string path = folder_.checkpoint_file(summary_.problem, sim_.steps());
  auto written = alone() ? mesh::write_checkpoint(path, sim_.state().mesh, sim_.state().now, state)
                         : write_parts_of_checkpoint(path, state);
  if (written && alone()) written = run_folder::sync_names(path);  // before an older one is removed
  if (!written) return written;
  log_info("step {}, time {:g}: wrote {}", sim_.steps(), sim_.time(), path);
  if (is_root(net())) {
    run_folder::drop_other_parts(path, mark_);
    if (!good)
      log_warning(
          "step {}: what floors have added and what is unexplained exceed a tenth of the mass or energy; the "
          "checkpoints up to step {} are kept, continue from one of them with --resume FILE and lower hydro.cfl or "
          "floors",
          sim_.steps(), good_step_);
    folder_.prune_checkpoints(static_cast<std::size_t>(sim_.options().output.checkpoints_kept),
                              good ? run_folder::none_kept : good_step_);
  }
  checkpoint_s_ = wall_s();
  return {};
}

namespace {

/// The path of a part, which is relative to the folder of the whole file.
std::string place_of(const std::string& whole, const std::string& part) {
  return (std::filesystem::path(whole).parent_path() / part).string();
}

}  // namespace

// Writes the parts, then, when all are complete, the whole. On any failure removes all of them.
template <class Part, class Whole>
result<void> run_files::write_together(const std::string& path, Part&& write_part, Whole&& write_whole) {
  ++mark_;
  const std::string part = place_of(path, run_folder::part_of(path, mark_, net().here()));
  const bool has_blocks = !sim_.state().own().empty();
  result<void> mine = has_blocks ? write_part(part) : result<void>();
  if (mine && has_blocks) mine = run_folder::sync_names(part);
  auto done = all(mine);
  if (done) {
    mine = is_root(net()) ? write_whole() : result<void>();
    if (mine && is_root(net())) mine = run_folder::sync_names(path);
    done = all(mine);
  }
  if (done) return done;
  std::error_code code;
  std::filesystem::remove(part, code);
  return done;
}

result<void> run_files::write_parts_of_mesh(const std::string& path, const mesh_content& content,
                                            const idle_rates& idle) {
  return write_together(
      path, [&](const std::string& part) { return write_mesh_part(part, sim_, content, idle); },
      [&] {
        std::vector<std::string> names;
        for (int k = 0; k < net().count(); ++k) names.push_back(run_folder::part_of(path, mark_, k));
        return write_mesh_of_parts(path, sim_, content, names);
      });
}

result<void> run_files::write_parts_of_checkpoint(const std::string& path, const mesh::checkpoint_state& state) {
  const gas& g = sim_.state();
  const auto parts = [&] {
    mesh::checkpoint_parts all{mark_, {}};
    for (int k = 0; k < net().count(); ++k)
      all.all.push_back({run_folder::part_of(path, mark_, k), g.parts.blocks(g.mesh, k).size()});
    return all;
  };
  return write_together(
      path,
      [&](const std::string& part) {
        return mesh::write_checkpoint_part(part, g.mesh, g.now, parts(), static_cast<std::size_t>(net().here()));
      },
      [&] { return mesh::write_checkpoint_of_parts(path, g.mesh, g.now, state, parts()); });
}

// ---- Writes the files of [[output.series]].

namespace {

task_info info() { return {probe::register_name("star.series"), probe::no_key}; }

result<void> check_precision(const std::string& path, const pixel_image& image) {
  if (!image.single_precision) return {};
  double largest = 0.0;
  for (const std::vector<double>& values : image.values)
    for (const double v : values) largest = std::max(largest, std::abs(v));
  if (largest <= std::numeric_limits<float>::max()) return {};
  return error{
      fmt::format("cannot write '{}': a value of {:g} does not fit into single precision; set precision = "
                  "\"double\" in this [[output.series]]",
                  path, largest)};
}

}  // namespace

result<void> run_files::write_due_series(double before, std::uint32_t wished) {
  std::vector<std::size_t> due = series_.due(before, sim_.time(), sim_.steps());
  if ((wished & wish_series) != 0) {  // the root's clock decides
    std::vector<double> by_wall;
    for (const std::size_t i : series_.due_by_wall_time(wall_s())) by_wall.push_back(static_cast<double>(i));
    for (const double i : from_root(net(), sim_.tasks(), std::move(by_wall)))
      due.push_back(static_cast<std::size_t>(i));
  }
  for (const std::size_t i : due)
    if (auto r = write_series(series_.all()[i]); !r) return r;
  return {};
}

result<void> run_files::write_all_series() {
  for (output_series& s : series_.all())
    if (auto r = write_series(s); !r) return r;
  return {};
}

result<void> run_files::write_series(output_series& s) {
  if (s.step == sim_.steps()) return {};
  sim_.fetch();
  const std::string path = folder_.series_file(s.options.name, s.next, s.ending());
  const gravity_field* const gravity = need_gravity(s.variables) ? &sim_.gravity() : nullptr;  // on all localities
  auto written = s.options.kind == "mesh"
                     ? write_mesh_to(path, {s.variables, s.options.precision == "single", gravity}, {})
                 : s.options.kind == "profile" ? write_shells(path, s, gravity)
                 : s.options.kind == "tracers" ? write_tracers(path, s, gravity)
                                               : write_pixels(path, s, gravity);
  if (!written) return written;
  log_info("step {}, time {:g}: wrote {}", sim_.steps(), sim_.time(), path);
  s.step = sim_.steps();
  s.wall_s = wall_s();
  ++s.next;
  return {};
}

result<void> run_files::write_pixels(const std::string& path, const output_series& s, const gravity_field* gravity) {
  pixel_image image = sim_.tasks().run(
      info(), [&] { return paint(s.options, s.variables, sim_.state(), sim_.settings().hydro, gravity); });
  return at_root([&]() -> result<void> {
    const units& u = sim_.settings().code_units;
    image.time = sim_.time();
    image.step = sim_.steps();
    for (const output_variable& v : s.variables) {
      const dimension d = unit_in_image(s.options, v);
      const double kelvin = v.kind == variable_kind::temperature ? sim_.settings().kelvin : 0.0;
      const dimension length{d.length - v.unit.length, 0, 0};  // of an integral
      image.units.push_back(kelvin > 0.0 ? (d == v.unit ? "K" : "K " + u.name_of(length)) : u.name_of(d));
      image.factors.push_back(kelvin > 0.0 ? kelvin * u.cgs_of(length) : u.cgs_of(d));
    }
    image.numbers = attributes_of(sim_.settings());
    if (auto fits = check_precision(path, image); !fits) return fits;
    return write_pixel_file(path, image);
  });
}

result<void> run_files::write_tracers(const std::string& path, const output_series& s, const gravity_field* gravity) {
  const std::string table = sim_.tasks().run(info(), [&] {
    return sim_.points().table(s.variables, sim_.state(), sim_.settings().hydro, sim_.scratch(), sim_.steps(),
                               sim_.time(), gravity);
  });
  return at_root([&] { return write_file(path, table); });
}

result<void> run_files::write_shells(const std::string& path, const output_series& s, const gravity_field* gravity) {
  const std::string table = sim_.tasks().run(info(), [&] {
    return shell_table(s.options, s.variables, sim_.state(), sim_.settings().hydro, sim_.tasks().worker_count(),
                       sim_.steps(), sim_.time(), gravity);
  });
  return at_root([&] { return write_file(path, table); });
}

}  // namespace plx::star
