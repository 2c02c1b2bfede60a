// plx-dca: the Hubbard model in the dynamical cluster approximation, from high temperature to the superconducting
// transition, on one process or, under mpirun or srun, on several.
//
// Exit codes: 0 finished; 1 the run failed; 2 invalid input, or output that cannot be written; 130 stopped by a signal,
// with a checkpoint.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
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
#include "net/start/bootstrap.hpp"
#include "net/team.hpp"
#include "num/dense/linear_algebra.hpp"
#include "plx_dca_progress.hpp"
#include "probe/record/names.hpp"
#include "probe/settings.hpp"
#include "program.hpp"
#include "qmc/dca/dca.hpp"
#include "qmc/dca/dca_json.hpp"
#include "qmc/dca/dca_monitor.hpp"
#include "qmc/dca/function_parts.hpp"
#include "qmc/dca/memory.hpp"
#include "qmc/dca/output.hpp"
#include "rt/async.hpp"

namespace {

using namespace plx;

using app::answer, app::complain;
using app::failed, app::finished, app::interrupted;

struct command_line : app::common_options {
  std::string resume;
};

// On the other localities.
class server final : public qmc::dca_observer {
 public:
  server(const qmc::dca_options& o, probe::counter_registry& registry, std::string folder)
      : monitor_(o), folder_(std::move(folder)) {
    monitor_.add_counters(registry, false);
  }
  void iterated(const qmc::dca_iteration&) override {}
  void cooled(const qmc::dca_temperature&) override {}
  const std::atomic<bool>* stop_flag() const override { return &app::stop_requested(); }
  std::shared_ptr<qmc::monte_carlo_progress> progress() override { return monitor_.walkers(); }
  std::shared_ptr<qmc::function_store> functions() override { return std::make_shared<qmc::function_parts>(folder_); }

 private:
  qmc::dca_monitor monitor_;
  std::string folder_;
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

// The line about the rate; empty if no iteration was completed.
std::string rate_of(double per_second, std::size_t workers) {
  if (per_second == 0) return {};
  return fmt::format("{:.6g} measurements per second, {:.6g} per core ({}, warm-up included)\n", per_second,
                     per_second / static_cast<double>(workers), plural(workers, "worker"));
}

int report_end(const qmc::dca_outcome& done, const qmc::dca_options& o, const std::string& folder,
               std::string text = {}) {
  if (done.transition || (o.pair_frequencies > 0 && !done.stopped)) text = transition_of(done) + text;
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
  const auto text = read_file(path);
  if (!text) return text.error();
  if (!path.ends_with(".json")) {
    if (auto r = table.load_text(*text, path); !r) return app::error_of_input(path, *text, r.error());
    return {};
  }
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
    if (auto r = table.set(s); !r) return app::error_of_set(r.error());
  plan.folder = folder_of(c);
  plan.options = o;
  return plan;
}

qmc::memory_share share_of(unsigned workers) {
  const auto launched = net::detail::launched();
  return {workers, launched.processes, launched.on_host};
}

// Reads and checks the input, and creates the folder or continues in it.
result<run_plan> prepare(const command_line& c, config_table& table, qmc::dca_options& o, unsigned workers) {
  auto plan = plan_of(c, table, o);
  if (!plan) return plan;
  o = plan->options;
  if (auto r = o.check(); !r) return r.error();
  if (auto r = qmc::check_memory(o, share_of(workers)); !r) return r.error();
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
run_end solve(const command_line& c, run_plan& plan, const app::run_record& record, const team& members,
              runtime& home) {
  // Copied by the loop before it reaches a state, which replaces this one.
  const qmc::dca_state* const from = c.resume.empty() ? nullptr : &plan.out->checkpoint().state;
  const auto lattice = plan.options.make_cluster();
  app::dca_progress_display watch(*plan.out, *lattice, plan.options, home, c.quiet);
  const std::size_t workers = home.worker_count() * members.size();
  // A resumed run keeps its walkers.
  if (!c.quiet && c.resume.empty() && static_cast<std::size_t>(plan.options.walkers) < workers)
    complain(
        fmt::format("note: {} for {}: some workers may be idle; --set solver.walkers={} uses all (results then "
                    "differ within their errors)",
                    plural(plan.options.walkers, "walker"), plural(workers, "worker"), workers));
  const qmc::memory_share share{static_cast<unsigned>(home.worker_count()), static_cast<unsigned>(members.size()),
                                net::detail::launched().on_host};
  if (!c.quiet && !plan.options.channels.empty())
    complain(fmt::format("note: {}", qmc::text_of_memory(plan.options, share)));
  plan.options.distribute = qmc::distributes(plan.options, share) ? "always" : "never";
  const auto done = run_loop(plan.options, watch, from, members);
  watch.finish();
  result<void> written;
  if (watch.failure()) written = *watch.failure();
  if (done && written) written = plan.out->finish(*done);
  const std::string failure = !done ? done.error().message : !written ? written.error().message : "";
  const char* status = !failure.empty() ? "failed" : done->stopped ? "interrupted" : "finished";
  const auto recorded = record.write(status, failure.empty() ? watch.warnings() : failure);
  if (!failure.empty()) return {done ? app::wrong_input : failed, failure};
  if (!recorded) return {app::wrong_input, recorded.error().message};
  return {report_end(*done, plan.options, plan.folder, rate_of(watch.measurements_per_s(), workers)), {}};
}

// Changes nothing in the folder.
run_end report_finished(const command_line& c, const run_plan& plan) {
  if (!c.quiet)
    complain(fmt::format("note: the run in {} is complete; colder loop.temperatures continue it", plan.folder));
  return {report_end(qmc::outcome_of(plan.out->checkpoint().state), plan.options, plan.folder), {}};
}

// The root's code, on all localities.
int agree(const team& members, int code) {
  return members.is_alone() ? code : members.communicator().broadcast(code).get();
}

// The root's configuration and changed options, for the others; empty if there is no run.
using root_input = std::pair<std::string, std::string>;

// The part of the localities that write no files. The record is for a failure.
run_end serve(plx::job& job, const command_line& c, qmc::dca_options& o, config_table& table, const team& members,
              std::optional<app::run_record>& record) {
  const auto [config, changed_options] = members.communicator().broadcast(root_input()).get();
  if (config.empty() || !table.load_text(config, "the root's input")) {
    job.leave_out_summary();
  } else {
    record.emplace(folder_of(c), job.home().worker_count(), changed_options);
    reserve_workspaces(job.home().worker_count());
    server watch(o, job.home().counters(), folder_of(c));
    std::ignore = run_loop(o, watch, nullptr, members);
  }
  return {agree(members, 0), {}};
}

// Collective. Only the root reads and writes files, unless a process fails; `plan` is empty on the others. `record`: of
// a run that has begun.
run_end run_on(plx::job& job, const command_line& c, std::optional<result<run_plan>>& plan, qmc::dca_options& o,
               config_table& table, std::optional<app::run_record>& record) {
  const team members = job.size() == 1 ? team() : team(communicator("plx-dca"));
  if (members.rank() != 0) return serve(job, c, o, table, members, record);
  result<run_plan>& own = *plan;
  if (own && !own->finished) {
    reserve_workspaces(job.home().worker_count());
    record.emplace(own->folder, job.home().worker_count(), own->changed_options);
    if (auto r = record->write("running"); !r) own = r.error(), record.reset();
  }
  const bool runs = own && !own->finished;
  if (!members.is_alone())
    members.communicator().broadcast(runs ? root_input{own->config, own->changed_options} : root_input()).get();
  if (!runs) job.leave_out_summary();
  run_end end = !own   ? run_end{app::wrong_input, own.error().message}
                : runs ? solve(c, *own, *record, members, job.home())
                       : report_finished(c, *own);
  end.code = agree(members, end.code);
  return end;
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
  settings.takes_spares = false;
  if (plan && *plan && !(*plan)->finished) settings.runtime = options_of_run(c, options, folder_of(c));
  if (!plan && read) settings.runtime = app::options_of_run(c, options, folder_of(c));
  plx::job job(settings);
  if (job.here() == 0 && !plan) plan = make_plan();
  // A launcher forwards a signal to all processes: then no message.
  app::handle_stop_signals(job.size() == 1 ? "\nstopping, with a checkpoint (signal again to stop immediately)\n"
                                           : nullptr);
  std::optional<run_end> end;
  std::optional<app::run_record> record;
  try {
    job.run({probe::register_name("qmc/run")}, [&] { end = run_on(job, c, plan, o, table, record); });
  } catch (const locality_lost&) {  // after the end of the run, a loss changes nothing
    if (!end)
      return app::end_failed_run(job, record ? &*record : nullptr, {},
                                 record ? "continue with: plx-dca --resume " + printable(folder_of(c)) : "");
  } catch (...) {
    return app::end_failed_run(job, record ? &*record : nullptr);
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
  const auto share = share_of(app::workers_of_run(c, options));
  if (auto r = qmc::check_memory(o, share); !r) return complain(r.error().message);
  return answer(fmt::format("the input is fine; {}\n", qmc::text_of_memory(o, share)));
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
  int code = app::failed;
  try {
    const auto read = app::read_command(program, options, argc, argv);
    if (read && program.count("--list-options") > 0)
      return answer(c.list_options == "markdown" ? table.markdown() : table.text_options());
    code = read && (c.print_config || c.validate) ? answer_without_run(c, options, o, table)
                                                  : run(c, options, o, table, read);
  } catch (...) {
    code = app::exit_of_exception(program);
  }
  return app::end_program(code);  // without an exception, whose destructor may release other processes
}
