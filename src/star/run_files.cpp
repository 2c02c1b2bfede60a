#include "star/run_files.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "mesh/checkpoint.hpp"
#include "probe/counter_registry.hpp"
#include "probe/recorder.hpp"
#include "rt/runtime.hpp"
#include "star/identity.hpp"
#include "star/mesh_output.hpp"

namespace plx::star {

run_files::run_files(simulation& sim, const run_request& request)
    : sim_(sim), request_(request), folder_(request.out), begin_s_(monotonic_seconds()) {
  summary_.problem = sim.options().problem_name;
  summary_.workers = sim.tasks().worker_count();
}

double run_files::wall_s() const { return wall_before_s_ + (monotonic_seconds() - begin_s_); }

result<void> run_files::restore(const mesh::checkpoint& c, const std::string& path) {
  const std::vector<double>* files = c.state.find("files");
  if (files == nullptr || files->size() != 2)
    return error{path + ": the numbers 'files' are missing; the checkpoint is not one of this program"};
  next_mesh_ = static_cast<std::int64_t>(files->at(0));
  wall_before_s_ = files->at(1);
  mesh_step_ = history_step_ = sim_.steps();
  rows_updates_ = sim_.cell_updates();
  row_s_ = counters_s_ = checkpoint_s_ = wall_before_s_;
  summary_.resumed_at_step = sim_.steps();
  resumed_ = true;
  return {};
}

result<void> run_files::begin() {
  if (auto made = folder_.make(); !made) return made;
  if (auto r = write_file(folder_.file("config.toml"), sim_.options().table.toml()); !r) return r;
  if (auto r = log_to_file(folder_.file("log.txt"), log_level::info); !r) return r;
  if (auto r = write_summary("running", ""); !r) return r;
  if (resumed_) return cut_history();
  if (auto r = append_history(); !r) return r;
  return write_mesh();
}

bool run_files::mesh_is_due() const {
  const double interval = sim_.options().output.mesh_interval;
  if (!(interval > 0.0)) return false;
  return std::floor(sim_.time() / interval) > std::floor((sim_.time() - sim_.dt()) / interval);
}

result<void> run_files::after_step() {
  const output_options& o = sim_.options().output;
  if (sim_.steps() % o.history_interval == 0)
    if (auto r = append_history(); !r) return r;
  if (mesh_is_due())
    if (auto r = write_mesh(); !r) return r;
  if (o.counters_interval_s > 0.0 && wall_s() - counters_s_ >= o.counters_interval_s)
    if (auto r = append_counters(); !r) return r;
  if (request_.trace) sim_.tasks().recorder().drain();
  if (o.checkpoint_interval_s > 0.0 && wall_s() - checkpoint_s_ >= o.checkpoint_interval_s) return write_checkpoint();
  return {};
}

result<void> run_files::end(const std::string& status, const std::string& message) {
  if (auto r = append_history(); !r) return r;
  if (auto r = append_counters(); !r) return r;
  if (status == "interrupted" || (status == "finished" && sim_.options().output.checkpoint_at_end))
    if (auto r = write_checkpoint(); !r) return r;  // before the mesh file: the run that continues writes it again
  if (auto r = write_mesh(); !r) return r;
  if (auto r = write_exact(); !r) return r;
  if (auto r = write_profile(); !r) return r;
  return write_summary(status, message);
}

void run_files::end_without_files(const std::string& status, const std::string& message) {
  if (auto r = write_summary(status, message); !r) log_error("{}", r.error().message);
}

std::vector<double> run_files::idle_rates() {
  const probe::recorder& r = sim_.tasks().recorder();
  idle_s_.resize(r.worker_count(), 0.0);
  used_s_.resize(r.worker_count(), 0.0);
  std::vector<double> rates;
  for (unsigned w = 0; w < r.worker_count(); ++w) {
    const probe::worker_times t = r.times(w);
    const double used = t.exec_s + t.overhead_s + t.background_s;
    const double idle = t.idle_s - std::exchange(idle_s_[w], t.idle_s);
    const double whole = idle + used - std::exchange(used_s_[w], used);
    rates.push_back(whole > 0.0 ? idle / whole : 0.0);
  }
  return rates;
}

result<void> run_files::write_mesh() {
  if (mesh_step_ == sim_.steps()) return {};
  const std::string path = folder_.mesh_file(summary_.problem, next_mesh_);
  sim_.costs().collect(sim_.tasks().recorder());
  if (auto r = write_mesh_file(path, sim_, idle_rates()); !r) return r;
  log_info("step {}, time {:g}: wrote {}", sim_.steps(), sim_.time(), path);
  sim_.costs().clear();
  mesh_step_ = sim_.steps();
  ++next_mesh_;
  return {};
}

result<void> run_files::write_checkpoint() {
  mesh::checkpoint_state state;
  state.build =
      fmt::format("plx-star {} ({}, {}, {})", request_.version, request_.git, request_.compiler, request_.build_type);
  state.options = sim_.options().table.toml();
  state.identity = identity_of(sim_.options().table);
  state.numbers = sim_.numbers();
  state.numbers.push_back({"files", {static_cast<double>(next_mesh_), wall_s()}});
  const std::string path = folder_.checkpoint_file(summary_.problem, sim_.steps());
  if (auto r = mesh::write_checkpoint(path, sim_.state().mesh, sim_.state().now, state); !r) return r;
  log_info("step {}, time {:g}: wrote {}", sim_.steps(), sim_.time(), path);
  folder_.prune_checkpoints(static_cast<std::size_t>(sim_.options().output.checkpoints_kept));
  checkpoint_s_ = wall_s();
  return {};
}

result<void> run_files::append_counters() {
  counters_s_ = wall_s();
  return sim_.tasks().counters().append_csv(folder_.file("counters.csv"), counters_s_);
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
  summary_.references = sim_.options().problem->references(sim_.time());
  return write_file(folder_.file("run.json"), summary_.json(request_));
}

}  // namespace plx::star
