// plx-dca: the Hubbard model in the dynamical cluster approximation, from high temperature to the superconducting
// transition.
//
// Exit codes: 0 finished; 1 the run failed; 2 invalid input, or output that cannot be written; 130 stopped by a signal,
// with a checkpoint.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/build_info.hpp"
#include "base/file.hpp"
#include "console.hpp"
#include "probe/record/names.hpp"
#include "probe/settings.hpp"
#include "program.hpp"
#include "qmc/dca/dca.hpp"
#include "qmc/dca/dca_json.hpp"
#include "qmc/dca/memory.hpp"
#include "qmc/dca/output.hpp"
#include "rt/runtime.hpp"

namespace {

using namespace plx;

using app::answer, app::complain;
using app::failed, app::finished, app::interrupted;

struct command_line : app::common_options {
  std::string resume;
};

// Prints a line per iteration and temperature, and writes the tables.
class observer final : public qmc::dca_observer {
 public:
  observer(qmc::dca_output& out, const qmc::cluster& c, const qmc::dca_options& o, bool quiet)
      : out_(out), cluster_(c), options_(o), quiet_(quiet) {}
  void iterated(const qmc::dca_iteration& i) override {
    keep(out_.add(i));
    for (const auto& warning : warnings_of(options_, i)) complain(warning, finished);
    if (quiet_) return;
    std::fprintf(stderr,
                 "T %-7.5g iteration %d: mu %8.4f  n %.4f(%.4f)  D %.4f(%.4f)  sign %.3f  <k> %.1f  tau %.1f  change "
                 "%.3f  %.1f s\n",
                 i.t, i.iteration + 1, i.mu, i.density.value, i.density.error, i.double_occupancy.value,
                 i.double_occupancy.error, i.sign.value, i.order, i.autocorrelation_time, i.change, i.seconds);
  }
  void cooled(const qmc::dca_temperature& t) override {
    keep(out_.add(t, cluster_));
    if (!quiet_ && t.d_wave)
      std::fprintf(stderr, "T %-7.5g lambda_d %.4f +- %.4f (overlap %.3f), energy %.5f +- %.5f\n", t.t, t.d_wave->value,
                   t.d_wave->error, t.d_wave_overlap, t.energy.value, t.energy.error);
  }
  void reached(const qmc::dca_state& s) override {
    if (!failure_) keep(out_.add(s));
  }
  bool stop_requested() override { return app::stop_requested() || failure_.has_value(); }
  const std::atomic<bool>* stop_flag() const override { return &app::stop_requested(); }
  const std::optional<error>& failure() const { return failure_; }

 private:
  void keep(const result<void>& r) {
    if (!r && !failure_) failure_ = r.error();
  }
  qmc::dca_output& out_;
  const qmc::cluster& cluster_;
  const qmc::dca_options& options_;
  bool quiet_;
  std::optional<error> failure_;
};

// The line about T_c.
std::string transition_of(const qmc::dca_outcome& done) {
  if (done.transition) return fmt::format("T_c = {:.5f} +- {:.5f}\n", done.transition->value, done.transition->error);
  if (done.begins_ordered) return "no T_c: lambda_d is above 1 at the first temperature; begin at a higher one\n";
  if (done.with_d_wave < done.complete)
    return fmt::format("no T_c: no eigenvector has the form cos kx - cos ky at {} of {} temperatures\n",
                       done.complete - done.with_d_wave, done.complete);
  return "no T_c: lambda_d stays below 1\n";
}

int report_end(const qmc::dca_outcome& done, const qmc::dca_options& o, const std::string& folder) {
  std::string text;
  if (done.transition || (o.pair_frequencies > 0 && !done.stopped)) text = transition_of(done);
  if (done.stopped) text += fmt::format("stopped; continue with plx-dca --resume {}\n", folder);
  return answer(text, done.stopped ? interrupted : finished);
}

// The folder of a new run, or of one that continues.
struct run_plan {
  std::string folder, config;
  qmc::dca_options options;
  std::optional<qmc::dca_output> resumed;
};

runtime_options options_of_run(const command_line& c, runtime_options options, const std::string& folder) {
  options = app::options_of_run(c, std::move(options), folder);
  auto measure = std::make_shared<probe::settings>(*options.measure);
  measure->diagnose = true;  // for parallax report
  if (measure->profile.empty()) measure->profile = "csv";
  options.measure = std::move(measure);
  return options;
}

// Changes nothing in the folder.
int report_finished(const command_line& c, const run_plan& plan) {
  if (!c.quiet)
    std::fprintf(stderr, "plx-dca: note: the run in %s is complete; colder loop.temperatures continue it\n",
                 plan.folder.c_str());
  return report_end(qmc::outcome_of(plan.resumed->checkpoint().state), plan.options, plan.folder);
}

int run(const command_line& c, runtime_options options, run_plan& plan) {
  if (plan.resumed && plan.resumed->is_finished(plan.options)) return report_finished(c, plan);
  app::handle_stop_signals("\nstopping, with a checkpoint (signal again to stop immediately)\n");
  auto out = plan.resumed ? std::move(plan.resumed) : std::optional<qmc::dca_output>();
  if (out) {
    if (auto r = out->resume(plan.config); !r) return complain(r.error().message);
  } else {
    auto created = qmc::dca_output::create(plan.folder, plan.config);
    if (!created) return complain(created.error().message);
    out = *std::move(created);
  }
  const std::optional<qmc::dca_state> from =
      c.resume.empty() ? std::nullopt : std::optional<qmc::dca_state>(out->checkpoint().state);
  out->set_build(fmt::format("plx-dca {} ({})", this_build().version, this_build().git));
  const auto lattice = plan.options.make_cluster();
  if (auto r = out->add(*lattice); !r) return complain(r.error().message);
  observer watch(*out, *lattice, plan.options, c.quiet);
  runtime rt(options_of_run(c, std::move(options), plan.folder));
  const app::run_record record(plan.folder, rt.worker_count());
  if (auto r = record.write("running"); !r) return complain(r.error().message);
  const task_info loop{probe::register_name("qmc/loop"), probe::no_key};
  const auto solve = [&] { return qmc::run_dca(plan.options, watch, from ? &*from : nullptr); };
  const auto done = record.guard([&] { return rt.run(loop, solve); });
  result<void> written;
  if (watch.failure()) written = *watch.failure();
  if (done && written) written = out->finish(*done);
  const std::string failure = !done ? done.error().message : !written ? written.error().message : "";
  const char* status = !failure.empty() ? "failed" : done->stopped ? "interrupted" : "finished";
  const auto recorded = record.write(status, failure);
  if (!failure.empty()) return complain(failure, done ? app::wrong_input : failed);
  if (!recorded) return complain(recorded.error().message);
  return report_end(*done, plan.options, plan.folder);
}

result<run_plan> plan_of_resumed(const command_line& c) {
  if (!c.input.empty() || !c.out.empty())
    return error{"--resume: expected neither an input file nor --out: the folder has its options"};
  run_plan plan;
  plan.folder = app::without_slash(c.resume);
  auto out = qmc::dca_output::reopen(plan.folder);
  if (!out) return out.error();
  auto options = qmc::options_of_resumed(out->checkpoint(), c.sets);
  if (!options) return options.error();
  plan.options = *std::move(options);
  plan.resumed = *std::move(out);
  return plan;
}

// A TOML file, or an input of DCA++.
result<void> load_input(const std::string& path, config_table& table) {
  if (!path.ends_with(".json")) return table.load_file(path);
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto input = qmc::read_dca_json(*text, path);
  if (!input) return input.error();
  for (const auto& assignment : input->assignments)
    if (auto r = table.set(assignment, path); !r) return r;
  for (const auto& note : input->notes) std::fprintf(stderr, "plx-dca: note: %s: %s\n", path.c_str(), note.c_str());
  return {};
}

result<run_plan> plan_of(const command_line& c, config_table& table, const qmc::dca_options& o) {
  if (!c.resume.empty()) return plan_of_resumed(c);
  if (c.input.empty())
    return error{"expected an input file, e.g. inputs/dca/tc.toml; plx-dca --help lists the options"};
  if (auto r = load_input(c.input, table); !r) return r.error();
  for (const auto& s : c.sets)
    if (auto r = table.set(s); !r) return r.error();
  run_plan plan;
  plan.folder = app::without_slash(c.out.empty() ? "run-dca" : c.out);
  plan.options = o;
  return plan;
}

int start(const command_line& c, const runtime_options& options, qmc::dca_options& o, config_table& table) {
  auto plan = plan_of(c, table, o);
  if (!plan) return complain(plan.error().message);
  o = plan->options;  // bound to the table
  if (c.print_config) return answer(table.text_effective());
  if (auto r = o.check(); !r) return complain(r.error().message);
  if (auto r = qmc::check_memory(o, app::workers_of_run(c, options)); !r) return complain(r.error().message);
  if (c.validate)
    return answer(fmt::format("the input is fine; the run needs {:.3g} GB of memory\n", 1e-9 * qmc::memory_bytes(o)));
  plan->config = table.toml();
  return run(c, options, *plan);
}

}  // namespace

int main(int argc, char** argv) {
  app::start_program("plx-dca", "use fewer sites, frequencies or walkers");
  CLI::App program("The Hubbard model in the dynamical cluster approximation.", "plx-dca");
  command_line c;
  app::declare_common(program, c, "TOML file that describes the run (inputs/dca/*.toml), or a JSON input of DCA++",
                      "run-dca", "check the input, print the memory the run needs, and exit");
  program.add_option("--resume", c.resume, "continue the run in this folder from its checkpoint")->type_name("FOLDER");
  qmc::dca_options o;
  config_table table;
  o.describe(table);
  runtime_options options;
  try {
    const auto read = app::read_command(program, options, argc, argv);
    if (!read) return complain(read.error().message);
    if (program.count("--list-options") > 0)
      return answer(c.list_options == "markdown" ? table.markdown() : table.text_options());
    return start(c, options, o, table);
  } catch (...) {
    return app::exit_of_exception(program);
  }
}
