// The tables of a run: history.csv, profile.csv, workers.csv, exact.csv.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/file.hpp"
#include "base/log.hpp"
#include "io/run_table.hpp"
#include "mesh/files/checkpoint.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"
#include "rt/measure/scheduler_counters.hpp"
#include "rt/runtime.hpp"
#include "session/diagnose_log.hpp"
#include "star/diagnostics/light_curve.hpp"
#include "star/diagnostics/star_diagnostics.hpp"
#include "star/driver/simulation.hpp"
#include "star/output/run_files.hpp"
#include "star/output/trace_window.hpp"
#include "star/step/gas_step.hpp"
#include "trace/profile.hpp"

namespace plx::star {

namespace {

constexpr const char *diagnostics_table = "diagnostics.csv", *light_table = "light_curve.csv";
std::string analysis_table(const std::string& name) { return fmt::format("analysis_{}.csv", name); }

/// Names of the totals, in the order of the fields; "" for a field that is not conserved.
std::vector<std::string> total_names(const gas& g) {
  std::vector<std::string> names;
  for (const mesh::field_info& f : g.now.fields()) names.push_back(f.total);
  return names;
}

std::string header_of_history(const std::vector<std::string>& names, const std::vector<std::string>& sums) {
  std::string line = "step,time,dt,blocks,cells,max_level,wall_s,cell_updates_per_s";
  for (const std::string& n : names)
    if (!n.empty()) line += "," + n;
  for (const std::string& n : sums) line += "," + n;
  line += ",floors_density,floors_pressure,floors_input";
  for (const char* part : {",from_floors_", ",out_"})
    for (const std::string& n : names)
      if (!n.empty()) line += part + n;
  return line + "\n";
}

template <class Table>
std::string header_of_columns(const Table& t) {
  std::string header = "step,time";
  for (const auto& c : t.columns()) header += "," + c.name;
  return header + "\n";
}

/// The unit, the factor to it, and the meaning of each column.
std::string meaning_of(const std::vector<table_column>& columns) {
  std::string text = "name,unit,factor,meaning\n";
  for (const table_column& c : columns) text += fmt::format("{},{},{},{}\n", c.name, c.unit, c.factor, c.help);
  return text;
}

}  // namespace

bool run_files::has_row(const std::string& table) const {
  const auto row = last_rows_.find(table);
  return row != last_rows_.end() && row->second == sim_.steps();
}

// Behind a zero-gradient side gas that flows in is continued: in a box too small for its stars the mass can grow
// without limit. Problems with an inflow of their own mean it.
void run_files::warn_of_inflow() {
  const auto& sides = sim_.state().mesh.box().sides;
  const auto has = [&sides](mesh::boundary b) { return std::find(sides.begin(), sides.end(), b) != sides.end(); };
  if (warned_of_inflow_ || !is_root(net()) || !has(mesh::boundary::zero_gradient) || has(mesh::boundary::inflow) ||
      has(mesh::boundary::problem))
    return;
  for (const ledger_row& r : ledger_.rows()) {
    if (r.quantity != "mass" || !(r.boundaries > 0.01 * r.start)) continue;
    warned_of_inflow_ = true;
    log_warning(
        "step {}: {:.2g} of the initial mass has flowed in through zero_gradient sides, which continue an inward flow; "
        "unless this is intended, use a larger box or mesh.sides = outflow",
        sim_.steps(), r.boundaries / r.start);
  }
}

result<void> run_files::append_history() {
  if (has_row(history_table)) return {};
  const std::vector<std::string> names = total_names(sim_.state());
  const std::vector<double> totals = sim_.totals();
  ledger_.take(ledger_values(totals));
  warn_of_inflow();
  const double now = wall_s(), since = now - row_s_;
  const double rate = since > 0.0 ? static_cast<double>(sim_.cell_updates() - rows_updates_) / since : 0.0;
  const gas& g = sim_.state();
  std::string line = fmt::format("{},{},{},{},{},{},{:.6f},{:.1f}", sim_.steps(), sim_.time(), sim_.dt(),
                                 g.mesh.block_count(), g.cell_count(), g.mesh.deepest(), now, rate);
  for (std::size_t v = 0; v < names.size(); ++v)
    if (!names[v].empty()) line += fmt::format(",{}", totals[v]);
  for (std::size_t v = names.size(); v < totals.size(); ++v) line += fmt::format(",{}", totals[v]);
  const floor_counts& f = sim_.floors();
  line += fmt::format(",{},{},{}", f.density, f.pressure, f.input);
  for (std::size_t v = 0; v < names.size(); ++v)
    if (!names[v].empty()) line += fmt::format(",{}", sim_.added().total(static_cast<int>(v)));
  for (std::size_t v = 0; v < names.size(); ++v)
    if (!names[v].empty()) line += fmt::format(",{}", sim_.left(static_cast<int>(v)));
  row_s_ = now;
  rows_updates_ = sim_.cell_updates();
  last_rows_[history_table] = sim_.steps();
  return at_root([&] {
    return append_file(folder_.file(history_table), header_of_history(names, sum_names(sim_.settings().modules)),
                       line + "\n");
  });
}

result<void> run_files::append_analyses() {
  const std::vector<std::string>& names = sim_.options().output.analysis;
  if (analyses_.empty() || has_row(analysis_table(names.front()))) return {};
  sim_.fetch();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const task_info info{probe::register_name("star.analyses"), probe::no_key};
    const std::vector<double> row = sim_.tasks().run(
        info, [&] { return analyse(*analyses_[i], sim_.state(), sim_.settings().hydro, sim_.tasks().worker_count()); });
    const std::string line = fmt::format("{},{},{}\n", sim_.steps(), sim_.time(), fmt::join(row, ","));
    const std::string table = analysis_table(names[i]);
    last_rows_[table] = sim_.steps();
    const auto append = [&] { return append_file(folder_.file(table), header_of_columns(*analyses_[i]), line); };
    if (auto r = at_root(append); !r) return r;
  }
  return {};
}

result<void> run_files::append_diagnostics() {
  if (diagnostics_ == nullptr || has_row(diagnostics_table)) return {};
  sim_.fetch();
  const bool was_disrupted = diagnostics_->disrupted_star() != 0;
  const task_info info{probe::register_name("star.diagnostics"), probe::no_key};
  const gravity_field& field = sim_.gravity();
  const std::vector<double> row = sim_.tasks().run(info, [&] { return diagnostics_->row(sim_.time(), field); });
  if (!was_disrupted && diagnostics_->disrupted_star() != 0)
    log_info("step {}: star {} is disrupted at time {:g}: its mass has fallen below {:g} of that in the first row",
             sim_.steps(), diagnostics_->disrupted_star(), diagnostics_->disruption_time(),
             sim_.options().diagnostics.disrupted_below);
  last_rows_[diagnostics_table] = sim_.steps();
  const std::string line = fmt::format("{},{},{}\n", sim_.steps(), sim_.time(), fmt::join(row, ","));
  return at_root([&] { return append_file(folder_.file(diagnostics_table), header_of_columns(*diagnostics_), line); });
}

result<void> run_files::append_light() {
  if (light_ == nullptr || has_row(light_table)) return {};
  sim_.fetch();
  const task_info info{probe::register_name("star.light_curve"), probe::no_key};
  const std::vector<double> row = sim_.tasks().run(info, [&] { return light_->row(); });
  last_rows_[light_table] = sim_.steps();
  const std::string line = fmt::format("{},{},{}\n", sim_.steps(), sim_.time(), fmt::join(row, ","));
  return at_root([&] { return append_file(folder_.file(light_table), header_of_columns(*light_), line); });
}

result<void> run_files::write_columns() const {
  if (diagnostics_ != nullptr)
    if (auto r = write_file(folder_.file("diagnostics_columns.csv"), meaning_of(diagnostics_->columns())); !r) return r;
  if (light_ == nullptr) return {};
  return write_file(folder_.file("light_curve_columns.csv"), meaning_of(light_->columns()));
}

std::vector<std::pair<std::string, std::string>> run_files::tables() const {
  std::vector<std::pair<std::string, std::string>> all{
      {history_table, header_of_history(total_names(sim_.state()), sum_names(sim_.settings().modules))}};
  if (diagnostics_ != nullptr) all.emplace_back(diagnostics_table, header_of_columns(*diagnostics_));
  if (light_ != nullptr) all.emplace_back(light_table, header_of_columns(*light_));
  for (std::size_t i = 0; i < analyses_.size(); ++i)
    all.emplace_back(analysis_table(sim_.options().output.analysis[i]), header_of_columns(*analyses_[i]));
  return all;
}

result<void> run_files::sync_tables() const {
  for (const auto& [table, step] : last_rows_) {
    std::error_code code;
    if (!std::filesystem::exists(folder_.file(table), code)) continue;  // moved away by the user
    if (auto r = sync_file(folder_.file(table)); !r) return r;
  }
  return {};
}

// Tables that this run does not append to have any columns. A run continues without tables in another folder.
result<run_files::kept_bytes> run_files::kept_tables() const {
  std::map<std::string, std::string> names;
  for (const std::string& table : folder_.analysis_tables()) names[table];
  for (const char* table : {history_table, diagnostics_table, light_table}) names[table];
  for (const auto& [table, header] : tables()) names[table] = header;
  kept_bytes kept;
  for (const auto& [table, header] : names) {
    const std::string path = folder_.file(table);
    if (std::error_code code; !std::filesystem::exists(path, code)) continue;
    const auto text = read_file(path);
    if (!text) return text.error();
    // Behind the last row of the checkpoint stands at most the last row of a run that has ended.
    const auto row = last_rows_.find(table);
    const auto bytes = row == last_rows_.end() ? bytes_up_to_step(path, *text, header, sim_.steps())
                                               : bytes_up_to_step(path, *text, header, row->second, row->second);
    if (!bytes)
      return error{bytes.error().message + "; restore the file, or move it away: the run then begins a new one"};
    kept[table] = *bytes;
  }
  return kept;
}

result<void> run_files::write_profile() {
  probe::recorder& r = sim_.tasks().recorder();
  if (auto w = probe::write_profile_csv(r, measured_ + "/profile.csv"); !w) return w;
  return r.write_waits_csv(measured_ + "/waits.csv");
}

// Writes the input of the report and of `parallax diagnose`: diagnose.csv, workers.csv and the tables of tasks.
result<void> run_files::write_tasks() {
  runtime& rt = sim_.tasks();
  const auto cost =
      rt.options().measure->diagnose ? probe::registration() : detail::add_task_cost_counter(rt.counters());
  if (auto w = diagnosis_->write(measured_); !w) return w;
  if (auto w = window_->end(); !w) return w;
  return write_task_tables(window_->data(), measured_);
}

result<void> run_files::write_exact() const {
  const problem& p = *sim_.options().problem;
  if (!is_root(net()) || !p.has_exact(sim_.time()) || sim_.settings().hydro.omega != 0.0) return {};
  const profile_table table = p.exact_profile(sim_.time());
  if (table.columns.empty()) return {};
  std::string text = fmt::format("{}\n", fmt::join(table.columns, ","));
  for (const std::vector<double>& row : table.rows)
    fmt::format_to(std::back_inserter(text), "{}\n", fmt::join(row, ","));
  return write_file(folder_.file("exact.csv"), text);
}

}  // namespace plx::star
