// plx-dca: the Hubbard model in the dynamical cluster approximation, from high temperature to the superconducting
// transition, on one process or, under mpirun or srun, on several.
//
// Exit codes: 0 finished; 1 the run failed; 2 invalid input, or output that cannot be written; 130 stopped by a signal,
// with a checkpoint.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "base/file.hpp"
#include "base/text.hpp"
#include "console.hpp"
#include "io/run_json.hpp"
#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "net/start/bootstrap.hpp"
#include "net/team.hpp"
#include "probe/record/names.hpp"
#include "probe/settings.hpp"
#include "program.hpp"
#include "qmc/dca/dca.hpp"
#include "qmc/dca/dca_json.hpp"
#include "qmc/dca/memory.hpp"
#include "qmc/dca/output.hpp"
#include "rt/async.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

using app::answer, app::complain;
using app::failed, app::finished, app::interrupted;

struct command_line : app::common_options {
  std::string resume;
};

// Prints a line per iteration and temperature, and writes the tables; only on the root.
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

// On the other localities.
class server final : public qmc::dca_observer {
 public:
  void iterated(const qmc::dca_iteration&) override {}
  void cooled(const qmc::dca_temperature&) override {}
  const std::atomic<bool>* stop_flag() const override { return &app::stop_requested(); }
};

std::string folder_of(const command_line& c) {
  return app::without_slash(!c.resume.empty() ? c.resume : c.out.empty() ? "run-dca" : c.out);
}

// The line about T_c.
std::string transition_of(const qmc::dca_outcome& done) {
  if (done.transition) return fmt::format("T_c = {:.5f} +- {:.5f}\n", done.transition->value, done.transition->error);
  if (done.begins_ordered) return "no T_c: lambda_d is above 1 at the first temperature; begin at a higher one\n";
  if (done.with_d_wave < done.complete)
    return fmt::format("no T_c: no eigenvector has the form cos kx - cos ky at {} of {}\n",
                       done.complete - done.with_d_wave, plural(done.complete, "temperature"));
  return "no T_c: lambda_d stays below 1\n";
}

int report_end(const qmc::dca_outcome& done, const qmc::dca_options& o, const std::string& folder) {
  std::string text;
  if (done.transition || (o.pair_frequencies > 0 && !done.stopped)) text = transition_of(done);
  if (done.stopped) text += fmt::format("stopped; continue with plx-dca --resume {}\n", printable(folder));
  return answer(text, done.stopped ? interrupted : finished);
}

// The input of a run, with its folder.
struct run_plan {
  std::string folder, config, before;  // before: the options of the input file, or of the checkpoint, as TOML
  std::string changed_options;         // run_record
  qmc::dca_options options;
  std::optional<qmc::dca_output> out;
  bool finished = false;  // resumed, and nothing is left to do
};

// A TOML file, or an input of DCA++.
result<void> load_input(const std::string& path, config_table& table) {
  if (!path.ends_with(".json")) return table.load_file(path);
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto input = qmc::read_dca_json(*text, path);
  if (!input) return input.error();
  for (const auto& assignment : input->assignments)
    if (auto r = table.set(assignment, path); !r) return r;
  for (const auto& note : input->notes) complain(fmt::format("note: {}: {}", path, note));
  return {};
}

result<run_plan> plan_of_resumed(const command_line& c) {
  if (!c.input.empty() || !c.out.empty())
    return error{"--resume: expected neither an input file nor --out: the folder has its options"};
  run_plan plan;
  plan.folder = folder_of(c);
  auto out = qmc::dca_output::reopen(plan.folder);
  if (!out) return out.error();
  auto options = qmc::options_of_resumed(out->checkpoint(), c.sets);
  if (!options) return options.error();
  plan.options = *std::move(options);
  plan.before = out->checkpoint().options;
  plan.out = *std::move(out);
  return plan;
}

// Reads the input into the table, to which `o` is bound.
result<run_plan> plan_of(const command_line& c, config_table& table, const qmc::dca_options& o) {
  if (!c.resume.empty()) return plan_of_resumed(c);
  if (c.input.empty())
    return error{"expected an input file, e.g. inputs/dca/tc.toml; plx-dca --help lists the options"};
  if (auto r = load_input(c.input, table); !r) return r.error();
  run_plan plan;
  plan.before = table.toml();
  for (const auto& s : c.sets)
    if (auto r = table.set(s); !r) return r.error();
  plan.folder = folder_of(c);
  plan.options = o;
  return plan;
}

// Reads and checks the input, and creates the folder or continues in it.
result<run_plan> prepare(const command_line& c, config_table& table, qmc::dca_options& o, unsigned workers) {
  auto plan = plan_of(c, table, o);
  if (!plan) return plan;
  o = plan->options;
  if (auto r = o.check(); !r) return r.error();
  if (auto r = qmc::check_memory(o, workers); !r) return r.error();
  plan->config = table.toml();
  plan->changed_options = changed_options_json(
      plan->out ? plan->folder : "", option_changes(plan->before, plan->config), plan->out ? "--resume" : "--set");
  plan->finished = plan->out && plan->out->is_finished(o);
  if (plan->finished) return plan;
  if (plan->out) {
    if (auto r = plan->out->resume(plan->config); !r) return r.error();
  } else {
    auto created = qmc::dca_output::create(plan->folder, plan->config);
    if (!created) return created.error();
    plan->out = *std::move(created);
  }
  plan->out->set_build(app::name_of_build());
  if (auto r = plan->out->add(*o.make_cluster()); !r) return r.error();
  return plan;
}

// The end of a run: the same code on all localities.
struct run_end {
  int code = finished;
  std::string message;  // empty: none
};

// As a task with a name.
result<qmc::dca_outcome> run_loop(const qmc::dca_options& o, qmc::dca_observer& watch, const qmc::dca_state* from,
                                  const team& members) {
  const task_info loop{probe::register_name("qmc/loop"), probe::no_key};
  return async(loop, [&] { return qmc::run_dca(o, watch, from, members); }).get();
}

// The root's part, with the files.
run_end solve(const command_line& c, run_plan& plan, const app::run_record& record, const team& members) {
  const std::optional<qmc::dca_state> from =
      c.resume.empty() ? std::nullopt : std::optional<qmc::dca_state>(plan.out->checkpoint().state);
  const auto lattice = plan.options.make_cluster();
  observer watch(*plan.out, *lattice, plan.options, c.quiet);
  const auto done = record.guard([&] { return run_loop(plan.options, watch, from ? &*from : nullptr, members); });
  result<void> written;
  if (watch.failure()) written = *watch.failure();
  if (done && written) written = plan.out->finish(*done);
  const std::string failure = !done ? done.error().message : !written ? written.error().message : "";
  const char* status = !failure.empty() ? "failed" : done->stopped ? "interrupted" : "finished";
  const auto recorded = record.write(status, failure);
  if (!failure.empty()) return {done ? app::wrong_input : failed, failure};
  if (!recorded) return {app::wrong_input, recorded.error().message};
  return {report_end(*done, plan.options, plan.folder), {}};
}

// Changes nothing in the folder.
run_end report_finished(const command_line& c, const run_plan& plan) {
  if (!c.quiet)
    complain(fmt::format("note: the run in {} is complete; colder loop.temperatures continue it", plan.folder));
  return {report_end(qmc::outcome_of(plan.out->checkpoint().state), plan.options, plan.folder), {}};
}

// A lost locality is reported by the first of the others; before, the network notifies all of them, so that they agree.
run_end end_of_lost(const locality_lost& lost, const std::string& folder, const app::run_record* record) {
  const std::string message = fmt::format("{}; continue with: plx-dca --resume {}", lost.what(), folder);
  if (record != nullptr) std::ignore = record->write("failed", message);
  this_thread::sleep_for(std::chrono::milliseconds(500));
  return {failed, find_all_localities().front() == find_here() ? message : std::string()};
}

// The root's code, on all localities.
int agree(const team& members, int code) {
  return members.is_alone() ? code : members.communicator().broadcast(code).get();
}

// Collective. Only the root reads and writes files; `plan` is empty on the others.
run_end run_on(plx::job& job, const command_line& c, std::optional<result<run_plan>>& plan, qmc::dca_options& o,
               config_table& table) {
  const team members = job.size() == 1 ? team() : team(communicator("plx-dca"));
  std::optional<app::run_record> record;
  try {
    if (members.rank() != 0) {
      const auto config = members.communicator().broadcast(std::string()).get();
      server watch;
      if (config.empty() || !table.load_text(config, "the root's input"))
        job.leave_out_summary();
      else
        std::ignore = run_loop(o, watch, nullptr, members);
      return {agree(members, 0), {}};
    }
    result<run_plan>& own = *plan;
    if (own && !own->finished) {
      record.emplace(own->folder, job.home().worker_count(), own->changed_options);
      if (auto r = record->write("running"); !r) own = r.error();
    }
    const bool runs = own && !own->finished;
    if (!members.is_alone()) members.communicator().broadcast(runs ? own->config : std::string()).get();
    if (!runs) job.leave_out_summary();
    run_end end = !own   ? run_end{app::wrong_input, own.error().message}
                  : runs ? solve(c, *own, *record, members)
                         : report_finished(c, *own);
    end.code = agree(members, end.code);
    return end;
  } catch (const locality_lost& lost) {
    return end_of_lost(lost, folder_of(c), record ? &*record : nullptr);
  }
}

runtime_options options_of_run(const command_line& c, runtime_options options, const std::string& folder) {
  options = app::options_of_run(c, std::move(options), folder);
  auto measure = std::make_shared<probe::settings>(*options.measure);
  measure->diagnose = true;  // for parallax report
  if (measure->profile.empty()) measure->profile = "csv";
  options.measure = std::move(measure);
  return options;
}

// Run by all processes, including those whose command line is invalid: the root reports the error.
int run(const command_line& c, runtime_options options, qmc::dca_options& o, config_table& table,
        const result<void>& read) {
  const auto make_plan = [&] {
    return read ? prepare(c, table, o, app::workers_of_run(c, options)) : result<run_plan>(read.error());
  };
  // Before anything is measured: an input that is refused changes no file.
  std::optional<result<run_plan>> plan;
  if (net::detail::is_first_launched()) plan = make_plan();
  job_options settings;
  settings.runtime.workers = 1;
  if (plan && *plan && !(*plan)->finished) settings.runtime = options_of_run(c, options, folder_of(c));
  if (!plan && read) settings.runtime = app::options_of_run(c, options, folder_of(c));
  plx::job job(settings);
  if (job.here() == 0 && !plan) plan = make_plan();
  // A launcher forwards a signal to all processes: then no message.
  app::handle_stop_signals(job.size() == 1 ? "\nstopping, with a checkpoint (signal again to stop immediately)\n"
                                           : nullptr);
  std::optional<run_end> end;
  try {
    job.run([&] { end = run_on(job, c, plan, o, table); });
  } catch (const locality_lost&) {
    if (!end) throw;  // otherwise the root was lost, which has been reported
  }
  if (job.size() > 1) app::ignore_stop_signals();  // a launcher may signal the others when one process exits
  return end->message.empty() ? end->code : complain(end->message, end->code);
}

int answer_without_run(const command_line& c, const runtime_options& options, qmc::dca_options& o,
                       config_table& table) {
  const auto plan = plan_of(c, table, o);
  if (!plan) return complain(plan.error().message);
  o = plan->options;
  if (c.print_config) return answer(table.text_effective());
  if (auto r = o.check(); !r) return complain(r.error().message);
  if (auto r = qmc::check_memory(o, app::workers_of_run(c, options)); !r) return complain(r.error().message);
  return answer(fmt::format("the input is fine; the run needs {:.3g} GB of memory\n", 1e-9 * qmc::memory_bytes(o)));
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
    if (read && program.count("--list-options") > 0)
      return answer(c.list_options == "markdown" ? table.markdown() : table.text_options());
    if (read && (c.print_config || c.validate)) return app::end_program(answer_without_run(c, options, o, table));
    return app::end_program(run(c, options, o, table, read));
  } catch (...) {
    return app::end_program(app::exit_of_exception(program));
  }
}
