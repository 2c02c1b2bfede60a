// plx-parquet: the Hubbard model on small clusters in the parquet approximation, for several numbers of frequencies, on
// one process or, under mpirun or srun, on several.
//
// Exit codes: 0 finished; 1 the run failed, diverged or did not converge; 2 invalid input, too little memory, or output
// that cannot be written; 130 stopped by a signal, with a checkpoint.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "console.hpp"
#include "io/run_json.hpp"
#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/job.hpp"
#include "net/team.hpp"
#include "num/dense/linear_algebra.hpp"
#include "parquet/references/references.hpp"
#include "parquet/run/checkpoint_keeper.hpp"
#include "parquet/run/memory.hpp"
#include "parquet/run/options.hpp"
#include "parquet/run/output.hpp"
#include "parquet/run/run_device.hpp"
#include "parquet/run/vertices_file.hpp"
#include "parquet/solver/solver.hpp"
#include "program.hpp"

namespace {

using namespace plx;

using app::answer, app::complain, app::common_options;
using app::failed, app::finished, app::interrupted, app::wrong_input;

struct command_line : common_options {
  std::string resume, references;
};

// Prints a line per iteration and writes the table of iterations, on the root; writes checkpoints, on all localities.
class observer final : public parquet::solver_observer {
 public:
  observer(parquet::parquet_output* out, parquet::checkpoint_keeper& keeper, const team& members,
           const parquet::vertex_grid& grid, bool quiet)
      : out_(out), keeper_(keeper), team_(members), grid_(grid), quiet_(quiet) {}
  void iterated(const parquet::iteration_report& r) override {
    has_iterated_ = true;
    if (out_ == nullptr) return;
    if (auto w = out_->add(grid_.frequencies(), r); !w && !failure_) failure_ = w.error();
    if (quiet_) return;
    const auto most = leading_of(r);
    const auto q = grid_.lattice().momentum(most.momentum);
    std::fprintf(stderr,
                 "frequencies %d  iteration %d: residual %.2e  n %.5f  eigenvalue %.4f %s (%.2f, %.2f)  %.3g s%s\n",
                 grid_.frequencies(), r.iteration + 1, r.residual, r.density, most.eigenvalue, name_of(most.of), q[0],
                 q[1], r.seconds, r.seconds_left < 0 ? "" : fmt::format(", {:.3g} s left", r.seconds_left).c_str());
  }
  bool stop_requested() override { return app::stop_requested() || failure_.has_value(); }
  const std::atomic<bool>* stop_flag() const override { return &app::stop_requested(); }
  bool save_requested() override { return keeper_.is_due(); }
  void save(const parquet::solver_state& s) override {
    if (team_.any(failure_.has_value())) return;
    if (auto w = keeper_.save(grid_, s); !w) failure_ = w.error();
  }
  const std::optional<error>& failure() const { return failure_; }
  bool has_iterated() const { return has_iterated_; }

 private:
  parquet::parquet_output* out_;  // null on other localities
  parquet::checkpoint_keeper& keeper_;
  const team& team_;
  const parquet::vertex_grid& grid_;
  bool quiet_, has_iterated_ = false;
  std::optional<error> failure_;
};

std::string line_of(const parquet::parquet_solution& s) {
  const auto most = leading_of(s.last);
  const auto q = s.grid->lattice().momentum(most.momentum);
  return fmt::format(
      "frequencies {}: n = {:.6f}, largest eigenvalue {:.4f}, {} at ({:.2f}, {:.2f}), {}, residual {:.1e}\n",
      s.grid->frequencies(), s.green->density(), most.eigenvalue, name_of(most.of), q[0], q[1],
      plural(s.last.iteration + 1, "iteration"), s.last.residual);
}

// The last line of a run that has converged, as of plx-star.
std::string end_line_of(const std::string& folder) {
  return fmt::format("finished: {0}/ (plot it with ./plx report {0})\n", printable(folder));
}

// The end of a run, the same on all localities but for errors of the root's output.
struct run_end {
  int code = finished;
  std::string message;       // empty: none
  int unwritten = finished;  // the exit code of a run that has finished but could not write to stdout
};

// If a result is an error on any locality: the end of the run, with the message on one of them. Collective.
std::optional<run_end> end_of(const result<void>& own, const team& members) {
  const auto all = members.agree(own);
  return all ? std::nullopt : std::optional(run_end{wrong_input, all.error().message});
}

// The files of a run, and where it begins.
struct run_files {
  std::optional<parquet::parquet_output> out;  // on the root
  std::string folder;
  parquet::parquet_checkpoint from;
};

void append(std::string& to, const char* between, const std::string& text) {
  to += fmt::format("{}{}", to.empty() ? "" : between, text);
}

// Prints a warning of the root, unless it is empty.
void warn(std::string& warnings, const std::string& warning) {
  if (warning.empty()) return;
  complain(warning, finished);
  append(warnings, "; ", warning);
}

// Empty if the vertices of a run that an earlier process has finished are there.
std::string warning_of_missing(const std::string& folder, int frequencies) {
  const auto file = parquet::vertices_file(folder, frequencies);
  if (std::error_code failed; std::filesystem::exists(file, failed)) return {};
  return fmt::format(
      "warning: grid.frequencies {}: expected '{}', found none: this number of frequencies was finished without it; a "
      "run in another folder with grid.frequencies=[{}] writes it",
      frequencies, printable(file), frequencies);
}

// The memory and the disk that a run takes.
std::string text_of_needs(const parquet::parquet_options& o, const parquet::memory_share& share) {
  const double vertices = parquet::vertices_bytes(o);
  return fmt::format(
      "the run needs {:.3g} GB of memory{}{}\n", 1e-9 * parquet::memory_bytes(o, share),
      share.localities == 1 ? "" : " per process",
      vertices > 0 ? fmt::format(", and {:.3g} GB on the disk for vertices (output.hdf5)", 1e-9 * vertices) : "");
}

// The runs of all numbers of frequencies; `warnings`: of the root, printed already, however the run ends. Collective.
run_end solve_all(const common_options& c, const parquet::parquet_options& o, run_files& files, const team& members,
                  gpu::device* device, std::string& warnings) {
  const auto model = o.make_model().value();
  auto* out = files.out ? &*files.out : nullptr;
  parquet::checkpoint_keeper keeper(files.folder, members, out, files.from, o.checkpoint_interval_s);
  auto settings = o.settings();
  settings.device = device;
  std::string unconverged;
  int unwritten = finished;
  const auto note = [&](const parquet::finished_run& run) {
    if (!run.converged) append(unconverged, ", ", fmt::format("{} (residual {:.2g})", run.frequencies, run.residual));
    if (out != nullptr) warn(warnings, warning_of(run, *model.lattice));
  };
  for (const auto& run : files.from.finished) {
    note(run);
    if (out != nullptr && o.hdf5 && run.converged) warn(warnings, warning_of_missing(files.folder, run.frequencies));
  }
  for (std::size_t i = files.from.finished.size(); i < o.frequencies.size(); ++i) {
    const int n = o.frequencies[i];
    const auto grid = std::make_shared<const parquet::vertex_grid>(model.lattice, n, o.bosons_of(n));
    observer watch(out, keeper, members, *grid, c.quiet);
    const parquet::checkpoint_reader begun(files.folder, files.from, *grid);
    const bool resumes = i == files.from.finished.size() && !files.from.present.empty();
    const auto done = parquet::solve(model, grid, settings, watch, members, resumes ? &begun : nullptr);
    result<void> written;
    if (watch.failure()) written = *watch.failure();
    if (done && !done->stopped && out != nullptr && written) written = out->add(*done);
    if (out != nullptr && written && watch.has_iterated()) written = out->finish();
    if (auto end = end_of(written, members)) return *end;
    if (!done && !watch.has_iterated()) return {wrong_input, done.error().message};  // the checkpoint; on one locality
    if (!done) return {failed, fmt::format("grid.frequencies {}: {}", n, done.error().message)};
    if (done->stopped) {
      if (out != nullptr)
        answer(fmt::format("stopped; continue with plx-parquet --resume {}\n", printable(files.folder)));
      return {interrupted, {}};
    }
    // A run is finished when its vertices are written. Until then its last checkpoint stays.
    const auto vertices =
        o.hdf5 && done->converged ? parquet::write_vertices(files.folder, *done, members) : result<void>();
    if (auto end = end_of(vertices, members)) {
      if (keeper.keep() && !end->message.empty())
        end->message += fmt::format(
            "; plx-parquet --resume {} repeats the iterations since the last checkpoint and writes this file; with "
            "--set output.hdf5=false it continues without it",
            printable(files.folder));
      return *end;
    }
    if (auto end = end_of(keeper.save_finished(), members)) return *end;
    if (out != nullptr && unwritten == finished) unwritten = answer(line_of(*done));
    note(run_of(*done));
  }
  if (files.from.finished.size() == o.frequencies.size() && out != nullptr)
    if (auto written = out->finish(); !written) return {wrong_input, written.error().message};
  if (out != nullptr && unwritten == finished)
    unwritten = answer(out->summary() + (unconverged.empty() && !c.quiet ? end_line_of(files.folder) : ""));
  if (unconverged.empty()) return {finished, {}, unwritten};
  return {failed, fmt::format("not converged after {} with grid.frequencies {}; expected residuals below {:.2g}: "
                              "raise loop.iterations, or lower loop.damping",
                              plural(o.iterations, "iteration"), unconverged, o.tolerance)};
}

// An input that was read and checked.
struct run_plan {
  std::string folder, config, changed_options;  // the last for run_record
  bool resumes = false;
};

// Creates the folder, or locks that of a run to continue. Collective.
result<run_files> open_files(const parquet::parquet_options& o, const run_plan& plan, const team& members) {
  run_files files{{}, plan.folder, {}};
  files.from.build = app::name_of_build();
  files.from.options = plan.config;
  const bool root = members.rank() == 0;
  result<void> ready;
  if (root) {
    auto out = plan.resumes ? parquet::parquet_output::reopen(plan.folder, o)
                            : parquet::parquet_output::create(plan.folder, plan.config, o);
    if (out)
      files.out = *std::move(out);
    else
      ready = out.error();
  }
  if (auto r = members.agree(ready); !r) return r.error();
  if (!plan.resumes) return files;
  if (auto from = parquet::read_parquet_checkpoint(plan.folder)) {  // now that no other process writes it
    from->build = files.from.build;
    from->options = plan.config;
    files.from = *std::move(from);
  } else {
    ready = from.error();
  }
  if (ready && root) ready = files.out->resume(plan.config, files.from);
  if (auto r = members.agree(ready); !r) return r.error();
  return files;
}

// The state in run.json, which the root writes; after an exception, the process that reports it.
struct run_state {
  app::run_record record;
  bool begun = false;  // the folder is that of this run
  std::string warnings = {};

  std::string message_of(const std::string& end) const {
    return end + (end.empty() || warnings.empty() ? "" : "; ") + warnings;
  }
};

// Checks the memory, opens the folder, and solves. Collective.
run_end run_on(plx::job& job, const common_options& c, const parquet::parquet_options& o, const run_plan& plan,
               run_state& state) {
  const team members = job.size() == 1 ? team() : team(communicator("plx-parquet"));
  const bool root = members.rank() == 0;
  const parquet::memory_share share{job.home().worker_count(), members.size(), parquet::host_share_of(members).size};
  const auto fits = members.agree(parquet::check_memory(o, share));
  const auto device =
      fits ? parquet::open_device(o, job.home(), members) : result<std::unique_ptr<gpu::device>>(fits.error());
  auto files = device ? open_files(o, plan, members) : result<run_files>(device.error());
  if (!files) {
    job.leave_out_summary();
    return {wrong_input, files.error().message};
  }
  // The root may write "running" as soon as all have the folder: from here on, whichever process fails records it.
  state.begun = true;
  reserve_workspaces(job.home().worker_count());
  if (root && !c.quiet) std::fputs(text_of_needs(o, share).c_str(), stderr);
  if (root) {
    std::error_code unknown;
    const auto disk = std::filesystem::space(plan.folder, unknown);
    if (!unknown)
      warn(state.warnings,
           warning_of_disk(o, plan.folder, static_cast<double>(disk.available), files->from.finished.size()));
  }
  if (auto failure = end_of(root ? state.record.write("running") : result<void>(), members)) return *failure;
  run_end end = solve_all(c, o, *files, members, device->get(), state.warnings);
  if (!root) return end;
  const char* status = end.code == finished ? "finished" : end.code == interrupted ? "interrupted" : "failed";
  if (auto r = state.record.write(status, state.message_of(end.message)); !r && end.code == finished)
    end = {wrong_input, r.error().message};
  return end;
}

// Options of the checkpoint in the folder, bound to the table.
result<run_plan> plan_of_resumed(const command_line& c, parquet::parquet_options& o, config_table& table) {
  if (!c.input.empty() || !c.out.empty())
    return error{"--resume: expected neither an input file nor --out: the folder has its options"};
  const std::string folder = app::without_slash(c.resume);
  if (auto r = check_resumable(folder, "plx-parquet", "checkpoint.h5"); !r) return r.error();
  const auto from = parquet::read_parquet_checkpoint(folder);
  if (!from) return from.error();
  auto options = parquet::options_of_resumed(folder, *from, c.sets);
  if (!options) return options.error();
  o = *std::move(options);
  const std::string config = table.toml();
  return run_plan{folder, config, changed_options_json(folder, option_changes(from->options, config), "--resume"),
                  true};
}

result<run_plan> prepare(const command_line& c, parquet::parquet_options& o, config_table& table) {
  if (!c.resume.empty()) return plan_of_resumed(c, o, table);
  if (c.input.empty())
    return error{"expected an input file, e.g. inputs/parquet/2x2.toml; plx-parquet --help lists the options"};
  const auto text = read_file(c.input);
  if (!text) return text.error();
  if (auto r = table.load_text(*text, c.input); !r) return app::error_of_input(c.input, *text, r.error());
  const std::string before = table.toml();
  for (const auto& s : c.sets)
    if (auto r = table.set(s); !r) return app::error_of_set(r.error());
  if (c.print_config) return run_plan();
  if (auto r = o.check(); !r) return r.error();
  const std::string config = table.toml();
  return run_plan{app::without_slash(c.out.empty() ? "run-parquet" : c.out), config,
                  changed_options_json("", option_changes(before, config), "--set")};
}

// A table of results beside those of other methods, printed line by line.
int compare_references(const command_line& c, const runtime_options& options) {
  plx::runtime rt(app::options_of_run(c, options, "plx-run"));
  app::handle_stop_signals("\nstopping\n");
  const auto line = [](auto... cells) {
    return fmt::format("{:<33}{:<23}{:<35}{:>13} {:>18} {:>10} {:>9}  {}\n", cells...);
  };
  int code = answer(line("model", "reference", "quantity", "parquet", "expected", "difference", "allowed", ""));
  int missed = 0, compared = 0;
  for (const auto& r : parquet::all_references()) {
    if (code == wrong_input || (r.slow && c.references == "fast")) continue;
    const auto all = rt.run([&] { return r.compare(&app::stop_requested()); });
    if (app::stop_requested()) return interrupted;
    if (!all) {
      complain(fmt::format("{}, {}: {}", r.model, r.by, all.error().message));
      ++missed;
      continue;
    }
    for (const auto& j : *all) {
      const auto expected = fmt::format("{:.8g}{}", j.expected, j.error > 0 ? fmt::format(" +- {:.1g}", j.error) : "");
      code = answer(line(r.model, r.by, j.quantity, fmt::format("{:.8g}", j.value), expected,
                         fmt::format("{:.2g}", j.difference()), fmt::format("{:.2g}", j.allowed),
                         j.holds() ? "" : "MISSED"));
      missed += j.holds() ? 0 : 1;
      ++compared;
    }
  }
  if (code == wrong_input) return code;
  return answer(fmt::format("{}, {} missed\n", plural(compared, "difference"), missed),
                missed == 0 ? finished : failed);
}

int answer_validate(const common_options& c, const runtime_options& options, const parquet::parquet_options& o) {
  const parquet::memory_share share{app::workers_of_run(c, options), 1, 1};
  if (auto r = parquet::check_memory(o, share); !r) return complain(r.error().message);
  return answer("the input is fine; " + text_of_needs(o, share));
}

// Run by all processes, including those whose preparation failed: the root reports the error.
int run(const common_options& c, runtime_options options, const parquet::parquet_options& o,
        const result<run_plan>& plan) {
  job_options settings;
  settings.runtime.workers = 1;
  settings.takes_spares = false;
  if (plan) settings.runtime = app::options_of_run(c, std::move(options), plan->folder);
  plx::job job(settings);
  if (!plan) {
    job.leave_out_summary();
    return job.here() == 0 ? complain(plan.error().message) : wrong_input;
  }
  app::handle_stop_signals(job.size() == 1 ? "\nstopping, with a checkpoint (signal again to stop immediately)\n"
                                           : nullptr);
  run_state state{app::run_record(plan->folder, job.home().worker_count(), plan->changed_options)};
  std::optional<run_end> end;
  const auto failed_run = [&] {
    return app::end_failed_run(job, state.begun ? &state.record : nullptr, state.warnings);
  };
  try {
    job.run({probe::register_name("parquet/run")}, [&] { end = run_on(job, c, o, *plan, state); });
  } catch (const locality_lost&) {  // after the end of the run, a loss changes nothing
    if (!end) return failed_run();
  } catch (...) {
    return failed_run();
  }
  const bool speaks = !end->message.empty() && (job.here() == 0 || end->code == wrong_input);
  if (speaks) return complain(end->message, end->code);
  return end->code == finished ? end->unwritten : end->code;
}

}  // namespace

int main(int argc, char** argv) {
  app::start_program("plx-parquet", "use fewer frequencies, or more processes");
  CLI::App program("The Hubbard model on small clusters in the parquet approximation.", "plx-parquet");
  command_line c;
  app::declare_common(program, c, "TOML file that describes the run (inputs/parquet/*.toml)", "run-parquet",
                      "check the input, print the memory the run needs, and exit");
  program
      .add_option("--resume", c.resume,
                  "continue the run in this folder from its checkpoint, on any number of processes")
      ->type_name("FOLDER");
  program
      .add_option(
          "--compare-references", c.references,
          "print a table of results beside exact diagonalization, second order and Monte Carlo, some minutes, and "
          "exit; fast: without Monte Carlo, some seconds; exit code 1 if a difference is not explained")
      ->expected(0, 1)
      ->check(CLI::IsMember({"fast"}))
      ->type_name("[fast]");
  parquet::parquet_options o;
  config_table table;
  o.describe(table);
  runtime_options options;
  int code = app::failed;
  try {
    const auto read = app::read_command(program, options, argc, argv);
    if (read && program.count("--list-options") > 0)
      return answer(c.list_options == "markdown" ? table.markdown() : table.text_options());
    if (read && program.count("--compare-references") > 0) {
      const bool alone = c.input.empty() && c.resume.empty() && c.out.empty() && c.sets.empty();
      code = alone ? compare_references(c, options)
                   : complain(
                         "--compare-references: expected no input, --set, --out or --resume beside it: its "
                         "problems are given");
    } else {
      const auto plan = read ? prepare(c, o, table) : result<run_plan>(read.error());
      if (plan && c.print_config) return answer(table.text_effective());
      code = plan && c.validate ? answer_validate(c, options, o) : run(c, options, o, plan);
    }
  } catch (...) {
    code = app::exit_of_exception(program);
  }
  return app::end_program(code);  // without an exception, whose destructor may release other processes
}
