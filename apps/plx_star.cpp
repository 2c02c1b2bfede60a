// plx-star: gas dynamics on an adaptive mesh. Reads the command line and the input, joins the other processes, runs.
//
// Exit codes: 0 finished; 1 the run failed; 2 invalid input, or output that cannot be written; 130 stopped by a signal,
// after a checkpoint.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/build_info.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "console.hpp"
#include "io/run_json.hpp"
#include "mesh/files/checkpoint.hpp"
#include "net/job.hpp"
#include "plx_star_progress.hpp"
#include "program.hpp"
#include "rt/runtime.hpp"
#include "star/driver/agreement.hpp"
#include "star/driver/run.hpp"

namespace {

using namespace plx;

using app::answer, app::complain;
using app::failed, app::finished, app::interrupted, app::wrong_input;

constexpr const char* stops_early =
    "\nstopping after the initial state and one step, with a checkpoint (signal again to stop immediately)\n";

struct command_line : app::common_options {
  std::string resume, model;
  std::vector<std::string> allowed;
  bool trace = false, makes_model = false;
};

void declare(CLI::App& app, command_line& c) {
  app::declare_common(app, c, "TOML file that describes the run (inputs/*.toml)", "run-<problem>");
  app.add_option("--resume", c.resume,
                 "continue the run in this folder from its newest checkpoint, or from the one that is named "
                 "(FOLDER/checkpoint/FILE)")
      ->type_name("FOLDER|FILE");
  app.add_option("--allow-change", c.allowed,
                 "with --resume: options of the physics that may differ from the checkpoint's, e.g. hydro.cfl")
      ->type_name("KEY,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--trace", c.trace, "record every task in trace.plxt, for plx-trace");
  CLI::App* model = app.add_subcommand(
      "make-model", "compute the stars of an input (problem binary or rotating_star), write them to a file, and exit");
  model->add_option("input", c.input, "TOML file that describes the stars")->required();
  model->add_option("-o,--out", c.model, "file to write (default: model.h5)")->type_name("FILE");
  app::declare_set_and_threads(*model, c);
  model->callback([&c] { c.makes_model = true; });
}

/// `text`: of the input file, which is read once, because it may be a pipe.
result<std::unique_ptr<star::input>> read_input(const command_line& c, const star::resume_point& from,
                                                std::string& text) {
  if (!from.checkpoint.empty()) return star::input_of_resumed(from.checkpoint, from.folder, c.input, c.sets, c.allowed);
  if (!c.allowed.empty()) return error{"--allow-change: expected --resume with it"};
  if (c.input.empty())
    return error{"expected an input file, e.g. inputs/sedov.toml; plx-star --help lists the options"};
  auto read = read_file(c.input);
  if (!read) return read.error();
  text = *std::move(read);
  auto in = star::input::from_text(text, c.input, c.sets);
  if (!in) return app::error_of_input(c.input, text, in.error());
  return in;
}

/// The plan of a run; each process of a job creates its own.
struct run_plan {
  std::unique_ptr<star::input> in;
  std::optional<star::setup> setup;  // empty: only the values of the input were requested
  star::run_request request;
  bool complete = false;  // a finished run is to be resumed in its folder: nothing is left to do
};

/// The options that differ from the input file's, or for a resumed run from the checkpoint's, for run.json.
result<std::string> changed_options_of(const command_line& c, const star::resume_point& from, const star::input& in,
                                       const std::string& text) {
  const std::string now = in.table.toml();
  if (!from.checkpoint.empty()) {
    const auto checkpoint = mesh::read_checkpoint(from.checkpoint);
    if (!checkpoint) return checkpoint.error();
    return changed_options_json(from.folder, option_changes(checkpoint->state.options, now), "--resume");
  }
  // The problem decides which options exist.
  const auto file = star::input::from_text(text, c.input, {"problem.name=" + in.problem_name});
  if (!file) return file.error();
  std::vector<option_change> changes = option_changes(file.value()->table.toml(), now);
  const auto problem = peek_string_in_text(text, c.input, "problem.name");
  if (problem && *problem != in.problem_name)
    changes.push_back({"problem.name", fmt::format("\"{}\"", *problem), fmt::format("\"{}\"", in.problem_name)});
  return changed_options_json("", changes, "--set");
}

star::run_request request_of(const command_line& c, const star::resume_point& from, const std::string& problem) {
  star::run_request r;
  r.out = app::without_slash(!c.out.empty()      ? c.out
                             : !c.resume.empty() ? from.folder
                             : c.validate        ? ""  // no folder is created, so none can conflict
                                                 : "run-" + problem);
  r.resume_checkpoint = from.checkpoint;
  r.trace = c.trace;
  const build_info& build = this_build();
  r.version = build.version, r.git = build.git;
  r.compiler = build.compiler, r.build_type = build.type;
  return r;
}

/// Whether the run in its folder has finished, and its checkpoint is where the run ends.
bool is_complete(const star::resume_point& from, const star::input& in, const star::setup& setup) {
  if (run_status_in(from.folder) != "finished") return false;  // before the tables of a checkpoint are read
  const auto checkpoint = mesh::read_checkpoint(from.checkpoint);
  if (!checkpoint) return false;
  const auto *time = checkpoint->state.find("time"), *steps = checkpoint->state.find("steps");
  if (time == nullptr || time->empty() || steps == nullptr || steps->empty()) return false;
  const double t_end = in.run.t_end * setup.time_unit, most = static_cast<double>(in.run.max_steps);
  return time->front() == t_end || (most > 0 && steps->front() == most);
}

/// Writes nothing: the processes of a job do this before they communicate, so that none sees files of another.
result<run_plan> prepare(const command_line& c) {
  star::resume_point from;
  const bool in_place = !c.resume.empty() && c.out.empty() && !c.validate && !c.print_config;
  if (!c.resume.empty()) {
    auto found = star::find_resume_point(c.resume, in_place);
    if (!found) return found.error();
    from = *std::move(found);
  }
  std::string text;
  auto in = read_input(c, from, text);
  if (!in) return in.error();
  run_plan w;
  w.in = *std::move(in);
  if (c.print_config) return w;
  auto setup = w.in->prepare();
  if (!setup) return setup.error();
  w.setup = *std::move(setup);
  w.request = request_of(c, from, w.in->problem_name);
  auto changed = changed_options_of(c, from, *w.in, text);
  if (!changed) return changed.error();
  w.request.changed_options = *std::move(changed);
  w.complete = in_place && c.sets.empty() && is_complete(from, *w.in, *w.setup);
  if (w.complete) return w;
  if (auto r = star::check_run(*w.in, *w.setup, w.request); !r) return r.error();
  return w;
}

job_options options_of(const command_line& c, runtime_options options, const run_plan& w) {
  options = app::options_of_run(c, std::move(options), w.request.out);
  options.stack_bytes = std::size_t{1} << 20;
  job_options all;
  all.takes_spares = false;
  all.runtime = std::move(options);
  all.summary = !w.request.out.empty() && !c.print_config;
  return all;
}

// Errors of stdout are ignored: the run has succeeded even if its output is no longer read.
void show(const std::string& line) {
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

int report_end(const star::run_end& end, const std::string& out, bool quiet) {
  if (end.speaks && !quiet) show(end.conservation);
  switch (end.status) {
    case star::run_status::finished:
      if (end.speaks && !quiet) show(fmt::format("finished: {0}/ (plot it with ./plx report {0})\n", printable(out)));
      return finished;
    case star::run_status::interrupted:
      if (end.speaks) show(fmt::format("stopped; {}\n", printable(end.message)));
      return interrupted;
    case star::run_status::failed:
      break;
  }
  const int code = end.output_failed ? wrong_input : failed;
  return end.speaks ? complain(end.message, code) : code;
}

int run_with_others(const command_line& c, const run_plan& w, plx::job& job, step::exchange& net) {
  // A launcher forwards a signal to all processes: then no message.
  app::handle_stop_signals(job.size() == 1 ? stops_early : nullptr);
  app::progress progress(c.quiet, job);
  const star::run_end end = star::run(*w.in, *w.setup, job.home(), w.request, progress, net);
  progress.finish();
  if (job.size() > 1) app::ignore_stop_signals();  // a launcher may signal the others when one process exits
  if (!end.begun) job.leave_out_summary();
  if (!end.lost) job.run([] {});  // no process exits before all have arrived here
  return report_end(end, w.request.out, c.quiet);
}

/// Run by all processes, including those whose preparation failed: one of them reports the error.
int go(const command_line& c, const runtime_options& options, const result<run_plan>& mine) {
  job_options here;
  here.runtime.workers = 1;
  here.takes_spares = false;
  plx::job job(mine ? options_of(c, options, *mine) : here);
  step::exchange net(job.node());
  try {
    const auto prepared = star::agree(net, job.home(), mine ? result<void>() : result<void>(mine.error()));
    if (!prepared) return job.here() == 0 ? complain(prepared.error().message) : wrong_input;
    return run_with_others(c, *mine, job, net);
  } catch (...) {
    app::leave_job(job, std::current_exception());
    return app::end_failed_run(job, nullptr);
  }
}

int make_model(const command_line& c, runtime_options options) {
  std::string text;
  auto in = read_input(c, {}, text);
  if (!in) return complain(in.error().message);
  if (const auto setup = in.value()->prepare(); !setup) return complain(setup.error().message);
  if (c.threads != 0) options.workers = c.threads;
  if (isatty(STDERR_FILENO) != 0) log_to_stderr(log_level::info);  // iterations as they are made
  runtime rt(std::move(options));
  const std::string path = c.model.empty() ? "model.h5" : c.model;
  const auto table = star::make_model(*in.value(), path, app::name_of_build(), rt);
  if (!table) return complain(table.error().message);
  return answer(*table + fmt::format("written: {}\n", printable(path)));
}

/// Exit code of requests that need no run.
int answer_of(const command_line& c, const run_plan& w) {
  if (w.complete)
    return answer(c.quiet ? ""
                          : fmt::format("the run in {} is finished, and nothing was written; a later run.t_end or more "
                                        "run.max_steps (--set) continues it\n",
                                        printable(w.request.out)));
  return answer((c.print_config ? w.in->table.text_effective() : "") + (c.validate ? "the input is fine\n" : ""));
}

}  // namespace

int main(int argc, char** argv) {
  app::start_program("plx-star", "the mesh is too large for this machine; lower mesh.max_level or refine less");
  CLI::App program("Gas on an adaptive mesh.", "plx-star");
  command_line c;
  declare(program, c);
  runtime_options options;
  try {
    const auto read = app::read_command(program, options, argc, argv);
    if (read && program.count("--list-options") > 0)
      return answer(c.list_options == "markdown" ? star::input::markdown() : star::input::text_options());
    if (read && c.makes_model) return make_model(c, options);
    const result<run_plan> mine = read ? prepare(c) : read.error();
    return mine && (c.print_config || c.validate || mine->complete) ? answer_of(c, *mine) : go(c, options, mine);
  } catch (...) {
    return app::exit_of_exception(program);
  }
}
