#include "star/output/run_files.hpp"

#include <fmt/format.h>
#include <random>
#include <utility>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "io/run_table.hpp"
#include "mesh/files/athdf.hpp"
#include "mesh/files/checkpoint.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/live/live_json.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"
#include "rt/runtime.hpp"
#include "session/diagnose_log.hpp"
#include "star/diagnostics/light_curve.hpp"
#include "star/diagnostics/star_diagnostics.hpp"
#include "star/driver/simulation.hpp"
#include "star/hydro/stage.hpp"
#include "star/output/trace_window.hpp"

namespace plx::star {

std::string run_summary::json(const run_request& r) const {
  std::string known;
  for (const named_value& v : references)
    known += fmt::format("{}{}: {}", known.empty() ? "" : ", ", json_text(v.name), probe::json_number(v.value));
  std::string sizes;
  if (code_units.known)
    sizes = fmt::format("\"length_cm\": {}, \"mass_g\": {}, \"time_s\": {}", probe::json_number(code_units.length_cm),
                        probe::json_number(code_units.mass_g), probe::json_number(code_units.time_s));
  if (kelvin > 0.0) sizes += fmt::format(", \"temperature_K\": {}", probe::json_number(kelvin));
  return fmt::format(
      "{{\n  \"program\": \"plx-star\",\n  \"version\": {},\n  \"problem\": {},\n"
      "  \"build\": {{\"compiler\": {}, \"type\": {}, \"git\": {}, \"isa\": {}}},\n"
      "  \"machine\": {},\n  \"process\": {},\n"
      "  \"localities\": {},\n  \"workers\": {},\n  \"status\": {},\n  \"message\": {},\n  \"started\": {},\n"
      "  \"wall_s\": {},\n  \"simulation_s\": {},\n  \"steps\": {},\n  \"time\": {},\n  \"cells\": {},\n"
      "  \"blocks\": {},\n  \"cell_updates\": {},\n  \"resumed_at_step\": {},\n  \"measurement_cost_percent\": {},\n"
      "  \"units\": {{{}}},\n  \"references\": {{{}}},\n  \"changed_options\": {},\n  {}\n}}\n",
      json_text(r.version), json_text(problem), json_text(r.compiler), json_text(r.build_type), json_text(r.git),
      json_text(std::string(name_of(active_isa()))), json_of(machine), json_of(process), localities, workers,
      json_text(status), json_text(message), json_text(started), probe::json_number(wall_s),
      probe::json_number(simulation_s), steps, probe::json_number(time), cells, blocks, cell_updates,
      resumed_at_step < 0 ? std::string("null") : fmt::format("{}", resumed_at_step),
      probe::json_number(measurement_cost_percent), sizes, known, r.changed_options, conservation);
}

namespace {

/// A number that no other run uses, small enough to be exact as a double.
std::uint64_t new_mark() {
  std::random_device source;
  return (std::uint64_t{source()} << 16 ^ source()) % (std::uint64_t{1} << 48);
}

}  // namespace

step::exchange& run_files::net() const { return sim_.state().net; }
bool run_files::alone() const { return net().is_alone(); }

run_files::run_files(simulation& sim, const run_request& request)
    : sim_(sim),
      request_(request),
      folder_(request.out),
      measured_(is_root(net()) ? folder_.path() : folder_.folder_of(net().here())),
      series_(sim.options().output.series, sim.settings().species, sim.settings().time_unit),
      window_(std::make_unique<trace_window>(sim.tasks().recorder(),
                                             sim.tasks().options().measure->trace ? trace_window::steps::nothing
                                             : request.trace                      ? trace_window::steps::all
                                                                                  : trace_window::steps::windows,
                                             measured_ + "/trace.plxt", static_cast<unsigned>(net().here()),
                                             static_cast<unsigned>(net().count()))),
      diagnosis_(std::make_unique<probe::diagnose_log>(sim.tasks().recorder(), sim.tasks().counters())),
      begin_s_(monotonic_seconds()),
      ledger_(sim.options(), sim.settings()) {
  for (const std::string& name : sim.options().output.analysis) analyses_.push_back(make_analysis(name).value());
  if (sim.options().diagnostics.stars > 0)
    diagnostics_ =
        std::make_unique<star_diagnostics>(sim.state(), sim.options(), sim.settings(), sim.tasks().worker_count());
  if (sim.options().light.interval > 0)
    light_ = std::make_unique<light_curve>(sim.state(), sim.options().light, sim.settings());
  summary_.problem = sim.options().problem_name;
  summary_.code_units = sim.settings().code_units;
  summary_.kelvin = sim.settings().kelvin;
  summary_.workers = sim.tasks().worker_count();
  summary_.localities = net().count();
}

run_files::~run_files() = default;

double run_files::wall_of_process_s() const { return monotonic_seconds() - begin_s_; }
double run_files::wall_s() const { return wall_before_s_ + wall_of_process_s(); }

result<void> run_files::restore(const mesh::checkpoint& c, const std::string& path) {
  const std::vector<double>* files = c.state.find("files");
  if (files == nullptr || files->size() != 2)
    return error{path + ": the numbers 'files' are missing; the checkpoint was not written by this program"};
  next_mesh_ = static_cast<std::int64_t>(files->at(0));
  wall_before_s_ = files->at(1);
  // If the run was stopped between its last checkpoint and its last mesh file, this file is still to be written;
  // another folder has none of the files yet.
  const std::vector<double>* last = c.state.find("last_mesh");
  mesh_step_ = is_in_place() && last != nullptr && last->size() == 1 ? static_cast<std::int64_t>(last->at(0)) : -1;
  // Without the ledger of these quantities a new one starts here.
  if (const std::vector<double>* state = c.state.find("ledger"); state != nullptr) ledger_.restore(*state);
  if (const std::vector<double>* good = c.state.find("good_step"); good != nullptr && good->size() == 1)
    good_step_ = static_cast<std::int64_t>(good->at(0));
  if (is_in_place())
    for (const auto& [table, names] : tables())
      if (const std::vector<double>* row = c.state.find(last_row_of + table); row != nullptr && row->size() == 1)
        last_rows_[table] = static_cast<std::int64_t>(row->at(0));
  if (const std::vector<double>* stars = c.state.find("diagnostics"); diagnostics_ != nullptr && stars != nullptr)
    if (!diagnostics_->restore(*stars))
      log_info("diagnostics.stars = {}: the checkpoint has another number of stars; they are found again",
               sim_.options().diagnostics.stars);
  rows_updates_ = sim_.cell_updates();
  row_s_ = counters_s_ = checkpoint_s_ = wall_before_s_;
  series_.restore(c.state, is_in_place(), wall_before_s_);
  summary_.resumed_at_step = sim_.steps();
  resumed_ = true;
  return {};
}

result<void> run_files::all(const result<void>& mine) {
  return agree(net(), sim_.tasks(), failure_ ? result<void>(*failure_) : mine);
}

result<void> run_files::lock() { return all(is_root(net()) ? folder_.lock(!is_in_place()) : result<void>()); }

// The root makes the common folders; then each locality makes its own.
result<void> run_files::make_folders() {
  result<void> made;
  bool has_mesh = false;
  if (is_root(net())) {
    made = folder_.make(!alone(), !series_.empty());
    if (made && resumed_) has_mesh = drop_later_files();
  }
  if (auto r = all(made); !r) return r;
  if (!is_root(net())) made = run_folder(measured_).make_alone();
  if (auto r = all(made); !r) return r;
  if (from_root(net(), sim_.tasks(), {has_mesh ? 1.0 : 0.0}).front() != 0.0) kept_step_ = sim_.steps();
  return {};
}

bool run_files::is_in_place() const { return request_.resume_checkpoint.starts_with(folder_.path() + "/checkpoint/"); }

// Removes mesh files with later numbers than the checkpoint knows, and later checkpoints, since they are written again.
// One of the mesh files may hold the state of the checkpoint itself: the last file of a run that ended or was stopped
// there. It is kept until another file takes its number; returns whether it exists.
bool run_files::drop_later_files() {
  const std::string next = folder_.mesh_file(summary_.problem, next_mesh_);
  const auto step = mesh::athdf_step(next);
  const bool has_mesh = step && *step == static_cast<int>(sim_.steps());
  folder_.drop_mesh_files(summary_.problem, next_mesh_, has_mesh ? next : "");
  for (const output_series& s : series_.all()) folder_.drop_series_files(s.options.name, s.next);
  folder_.drop_checkpoints_after(sim_.steps());
  folder_.drop_leftovers();
  return has_mesh;
}

// A table that was moved away begins again.
void run_files::forget_moved_tables(const kept_bytes& kept) {
  std::vector<double> there;
  for (const auto& [table, step] : last_rows_) there.push_back(kept.contains(table) ? 1.0 : 0.0);
  there = from_root(net(), sim_.tasks(), there);
  std::size_t i = 0;
  std::erase_if(last_rows_, [&](const auto&) { return there[i++] == 0.0; });
}

result<void> run_files::begin() {
  if (auto r = lock(); !r) return r;
  kept_bytes kept;
  const auto check_tables = [&]() -> result<void> {
    auto found = kept_tables();
    if (!found) return found.error();
    kept = *std::move(found);
    return {};
  };
  if (auto r = all(resumed_ && is_root(net()) ? check_tables() : result<void>()); !r) return r;
  if (resumed_) forget_moved_tables(kept);
  if (auto r = make_folders(); !r) return r;
  const auto write_first = [&, this]() -> result<void> {
    if (auto r = log_to_file(measured_ + "/log.txt", log_level::info); !r) return r;
    if (request_.trace && sim_.tasks().options().measure->trace)
      log_warning("--trace has no effect together with PLX_TRACE=1: the trace is in '{}'",
                  sim_.tasks().options().measure->output);
    if (auto r = window_->begin(); !r) return r;
    begun_ = !is_root(net());
    if (begun_) return {};
    if (auto r = write_file(folder_.file("config.toml"), sim_.options().table.toml()); !r) return r;
    begun_ = true;
    if (auto r = write_summary("running", ""); !r) return r;
    if (auto r = write_columns(); !r) return r;
    for (const auto& [table, bytes] : kept)
      if (auto r = shorten_file(folder_.file(table), bytes); !r) return r;
    return {};
  };
  if (auto r = all(write_first()); !r) return r;
  checked_time_ = sim_.time();
  ledger_.take(ledger_values(sim_.totals()));
  if (!ledger_.has_rotation()) take_rotation();
  mark_ = static_cast<std::uint64_t>(from_root(net(), sim_.tasks(), {static_cast<double>(new_mark())}).front());
  if (resumed_) return {};
  if (auto r = append_history(); !r) return r;
  if (auto r = append_analyses(); !r) return r;
  if (auto r = append_diagnostics(); !r) return r;
  if (auto r = append_light(); !r) return r;
  if (sim_.options().output.mesh_at_start)
    if (auto r = write_mesh(); !r) return r;
  return write_all_series();
}

// Uses the time of the previous step as it was: time() - dt() may be rounded to the other side of a multiple.
bool run_files::mesh_is_due() {
  const double before = std::exchange(checked_time_, sim_.time());
  const double interval = sim_.options().output.mesh_interval * sim_.settings().time_unit;
  return interval > 0.0 && std::floor(sim_.time() / interval) > std::floor(before / interval);
}

std::uint32_t run_files::wishes() const {
  if (failure_) return wish_no_more_files;
  const double interval = sim_.options().output.checkpoint_interval_s;
  const bool due = is_root(net()) && interval > 0.0 && wall_s() - checkpoint_s_ >= interval;
  const bool series_due = is_root(net()) && !series_.due_by_wall_time(wall_s()).empty();
  return (due ? std::uint32_t{wish_checkpoint} : 0u) | (series_due ? std::uint32_t{wish_series} : 0u);
}

result<void> run_files::after_step(std::uint32_t wished) {
  if ((wished & wish_no_more_files) != 0) return all({});
  const output_options& o = sim_.options().output;
  if (sim_.steps() % o.history_interval == 0)
    if (auto r = append_history(); !r) return r;
  if (sim_.steps() % o.analysis_interval == 0)
    if (auto r = append_analyses(); !r) return r;
  if (sim_.steps() % sim_.options().diagnostics.interval == 0)
    if (auto r = append_diagnostics(); !r) return r;
  if (const std::int64_t every = sim_.options().light.interval; every > 0 && sim_.steps() % every == 0)
    if (auto r = append_light(); !r) return r;
  const double before = checked_time_;
  if (mesh_is_due())
    if (auto r = write_mesh(); !r) return r;
  if (auto r = write_due_series(before, wished); !r) return r;
  if (o.counters_interval_s > 0.0 && wall_s() - counters_s_ >= o.counters_interval_s)
    if (auto r = append_counters(); !r) return r;
  window_->after_step(sim_.steps());
  if (wall_s() - diagnosed_s_ >= 0.1) {
    diagnosed_s_ = wall_s();
    diagnosis_->sample();
  }
  return (wished & wish_checkpoint) != 0 && !is_over_limit() ? write_checkpoint() : result<void>();
}

result<void> run_files::end(const std::string& status, const std::string& message) {
  // Before the last rows and files: a run that continues removes those that would not be due without the stop.
  if (status == "interrupted" || (status == "finished" && sim_.options().output.checkpoint_at_end))
    if (auto r = write_checkpoint(); !r) return r;
  if (auto r = append_history(); !r) return r;
  if (auto r = append_analyses(); !r) return r;
  if (auto r = append_diagnostics(); !r) return r;
  if (auto r = append_light(); !r) return r;
  if (auto r = append_counters(); !r) return r;
  if (auto r = write_mesh(); !r) return r;
  if (auto r = write_all_series(); !r) return r;
  take_rotation();
  const auto write_last = [this]() -> result<void> {
    if (auto r = write_exact(); !r) return r;
    if (auto r = write_profile(); !r) return r;
    return write_tasks();
  };
  if (auto r = all(write_last()); !r) return r;
  return all(is_root(net()) ? write_summary(status, message) : result<void>());
}

void run_files::end_without_files(const std::string& status, const std::string& message) {
  if (auto r = write_summary(status, message); !r) log_error("{}", r.error().message);
}

result<void> run_files::append_counters() {
  counters_s_ = wall_s();
  return here([this] { return sim_.tasks().counters().append_csv(measured_ + "/counters.csv", counters_s_); });
}

result<void> run_files::write_summary(const std::string& status, const std::string& message) {
  const probe::recorder& r = sim_.tasks().recorder();
  summary_.status = status;
  summary_.message = message;
  summary_.wall_s = summary_.simulation_s = wall_s();
  summary_.time = sim_.time();
  summary_.steps = sim_.steps();
  summary_.blocks = static_cast<std::int64_t>(sim_.state().mesh.block_count());
  summary_.cells = sim_.state().cell_count();
  summary_.cell_updates = sim_.cell_updates();
  summary_.measurement_cost_percent = 100.0 * r.measurement_cost();
  summary_.conservation = ledger_.json();
  summary_.references = sim_.options().problem->references(sim_.time());
  return write_file(folder_.file("run.json"), summary_.json(request_));
}

}  // namespace plx::star
