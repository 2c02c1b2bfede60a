// plx-parquet: the Hubbard model on small clusters in the parquet approximation, for several numbers of frequencies, on
// one process or, under mpirun or srun, on several.
//
// Exit codes: 0 finished; 1 the run failed, diverged or did not converge; 2 invalid input, too little memory, or output
// that cannot be written; 130 stopped by a signal, after an iteration.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "console.hpp"
#include "net/collectives.hpp"
#include "net/job.hpp"
#include "parquet/distribution/team.hpp"
#include "parquet/run/memory.hpp"
#include "parquet/run/options.hpp"
#include "parquet/run/output.hpp"
#include "parquet/solver/solver.hpp"
#include "program.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

using app::answer, app::complain, app::common_options;
using app::failed, app::finished, app::interrupted, app::wrong_input;

// Prints a line per iteration, and writes the table of iterations; only on the root.
class observer final : public parquet::solver_observer {
 public:
  observer(parquet::parquet_output* out, const parquet::hubbard_model& model, int frequencies, bool quiet)
      : out_(out), model_(model), frequencies_(frequencies), quiet_(quiet) {}
  void iterated(const parquet::iteration_report& r) override {
    if (out_ == nullptr) return;
    if (auto w = out_->add(frequencies_, r); !w && !failure_) failure_ = w.error();
    if (quiet_) return;
    const auto most = leading_of(r);
    const auto q = model_.lattice->momentum(most.momentum);
    std::fprintf(stderr,
                 "frequencies %d  iteration %d: residual %.2e  n %.5f  eigenvalue %.4f %s (%.2f, %.2f)  %.3g s%s\n",
                 frequencies_, r.iteration + 1, r.residual, r.density, most.eigenvalue, name_of(most.of), q[0], q[1],
                 r.seconds, r.seconds_left < 0 ? "" : fmt::format(", {:.3g} s left", r.seconds_left).c_str());
  }
  bool stop_requested() override { return app::stop_requested() || failure_.has_value(); }
  const std::optional<error>& failure() const { return failure_; }

 private:
  parquet::parquet_output* out_;  // null on other localities
  const parquet::hubbard_model& model_;
  int frequencies_;
  bool quiet_;
  std::optional<error> failure_;
};

void print_solution(const parquet::parquet_solution& s) {
  const auto most = leading_of(s.last);
  const auto q = s.grid->lattice().momentum(most.momentum);
  std::printf("frequencies %d: n = %.6f, largest eigenvalue %.4f, %s at (%.2f, %.2f), %d iterations\n",
              s.grid->frequencies(), s.green->density(), most.eigenvalue, name_of(most.of), q[0], q[1],
              s.last.iteration + 1);
}

// The end of a run, the same on all localities but for errors of the root's output.
struct run_end {
  int code = finished;
  std::string message;  // empty: none
};

// The runs of all numbers of frequencies. Collective.
run_end solve_all(const common_options& c, const parquet::parquet_options& o, parquet::parquet_output* out,
                  const std::string& folder, const parquet::team& members) {
  const auto model = o.make_model().value();
  std::string unconverged;
  for (const int n : o.frequencies) {
    observer watch(out, model, n, c.quiet);
    const auto grid = std::make_shared<const parquet::vertex_grid>(model.lattice, n, o.bosons_of(n));
    const auto done = parquet::solve(model, grid, o.settings(), watch, members);
    result<void> written;
    if (watch.failure()) written = *watch.failure();
    if (out != nullptr && written && done) written = out->add(*done);
    if (out != nullptr && written) written = out->finish();
    if (members.any(!written)) return {wrong_input, written ? std::string() : written.error().message};
    if (!done) return {failed, fmt::format("grid.frequencies {}: {}", n, done.error().message)};
    if (done->stopped) {
      if (out != nullptr) std::printf("stopped: %s/ has what was finished\n", folder.c_str());
      return {interrupted, {}};
    }
    if (out != nullptr) print_solution(*done);
    if (!done->converged)
      unconverged += fmt::format("{}{} (residual {:.2g})", unconverged.empty() ? "" : ", ", n, done->last.residual);
  }
  if (unconverged.empty()) return {};
  return {failed,
          fmt::format("not converged after {} iterations with grid.frequencies {}; expected residuals below {:.2g}: "
                      "raise loop.iterations, or lower loop.damping",
                      o.iterations, unconverged, o.tolerance)};
}

// Checks the memory, creates the folder, and solves. Collective.
run_end run_on(plx::job& job, const common_options& c, const parquet::parquet_options& o, const std::string& folder,
               const std::string& config) {
  const parquet::team members = job.size() == 1 ? parquet::team() : parquet::team(communicator("plx-parquet"));
  const bool root = members.rank() == 0;
  const parquet::memory_share share{job.home().worker_count(), members.size(), parquet::processes_of_host(members)};
  std::optional<parquet::parquet_output> out;
  auto ready = parquet::check_memory(o, share);
  if (root && ready) {
    if (auto created = parquet::parquet_output::create(folder, config, o))
      out.emplace(*std::move(created));
    else
      ready = created.error();
  }
  if (const unsigned speaker = members.first_with(!ready); speaker < members.size()) {
    job.leave_out_summary();
    return {wrong_input, speaker == members.rank() ? ready.error().message : std::string()};
  }
  if (root && !c.quiet)
    std::fprintf(stderr, "the run needs %.3g GB of memory%s\n", 1e-9 * parquet::memory_bytes(o, share),
                 members.is_alone() ? "" : " per process");
  std::optional<app::run_record> record;
  if (root) record.emplace(folder, share.workers);
  const result<void> recorded = root ? record->write("running") : result<void>();
  run_end end = members.any(!recorded) ? run_end{wrong_input, recorded ? "" : recorded.error().message}
                                       : solve_all(c, o, out ? &*out : nullptr, folder, members);
  const char* status = end.code == finished ? "finished" : end.code == interrupted ? "interrupted" : "failed";
  if (root)
    if (auto r = record->write(status, end.message); !r && end.code == finished) end = {wrong_input, r.error().message};
  return end;
}

// An input that was read and checked.
struct run_plan {
  std::string folder, config;
};

result<run_plan> prepare(const common_options& c, parquet::parquet_options& o, config_table& table) {
  if (c.input.empty())
    return error{"expected an input file, e.g. inputs/parquet/2x2.toml; plx-parquet --help lists the options"};
  if (auto r = table.load_file(c.input); !r) return r.error();
  for (const auto& s : c.sets)
    if (auto r = table.set(s); !r) return r.error();
  if (c.print_config) return run_plan();
  if (auto r = o.check(); !r) return r.error();
  return run_plan{app::without_slash(c.out.empty() ? "run-parquet" : c.out), table.toml()};
}

int answer_validate(const common_options& c, const runtime_options& options, const parquet::parquet_options& o) {
  unsigned workers = c.threads != 0 ? c.threads : options.workers;
  if (workers == 0) workers = thread::hardware_concurrency();  // as many as the run would start
  const parquet::memory_share share{workers, 1, 1};
  if (auto r = parquet::check_memory(o, share); !r) return complain(r.error().message);
  return answer(
      fmt::format("the input is fine; the run needs {:.3g} GB of memory\n", 1e-9 * parquet::memory_bytes(o, share)));
}

// Run by all processes, including those whose preparation failed: the root reports the error.
int run(const common_options& c, runtime_options options, const parquet::parquet_options& o,
        const result<run_plan>& plan) {
  job_options settings;
  settings.runtime.workers = 1;
  if (plan) settings.runtime = app::options_of_run(c, std::move(options), plan->folder);
  plx::job job(settings);
  if (!plan) {
    job.leave_out_summary();
    return job.here() == 0 ? complain(plan.error().message) : wrong_input;
  }
  app::handle_stop_signals(job.size() == 1 ? "\nstopping after this iteration (signal again to stop immediately)\n"
                                           : nullptr);
  const run_end end = job.run([&] { return run_on(job, c, o, plan->folder, plan->config); });
  const bool speaks = !end.message.empty() && (job.here() == 0 || end.code == wrong_input);
  return speaks ? complain(end.message, end.code) : end.code;
}

}  // namespace

int main(int argc, char** argv) {
  app::start_program("plx-parquet");
  CLI::App program("The Hubbard model on small clusters in the parquet approximation.", "plx-parquet");
  common_options c;
  app::declare_common(program, c, "TOML file that describes the run (inputs/parquet/*.toml)", "run-parquet",
                      "check the input, print the memory the run needs, and exit");
  parquet::parquet_options o;
  config_table table;
  o.describe(table);
  runtime_options options;
  try {
    const auto read = app::read_command(program, options, argc, argv);
    if (read && program.count("--list-options") > 0)
      return answer(c.list_options == "markdown" ? table.markdown() : table.text_options());
    const auto plan = read ? prepare(c, o, table) : result<run_plan>(read.error());
    if (plan && c.print_config) return answer(table.text_effective());
    if (plan && c.validate) return answer_validate(c, options, o);
    return run(c, options, o, plan);
  } catch (const job_error& e) {
    return e.report("plx-parquet");
  } catch (...) {
    return app::exit_of_exception(program, "use fewer frequencies, or more processes");
  }
}
