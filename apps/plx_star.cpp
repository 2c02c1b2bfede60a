// plx-star: gas dynamics on an adaptive mesh. Reads the command line and the input, joins the other processes, runs.
//
// Exit codes: 0 finished; 1 the run failed; 2 invalid input, or output that cannot be written; 130 stopped by a signal,
// after a checkpoint.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/build_info.hpp"
#include "base/log.hpp"
#include "console.hpp"
#include "net/job.hpp"
#include "plx_star_progress.hpp"
#include "probe/settings.hpp"
#include "rt/runtime.hpp"
#include "star/driver/agreement.hpp"
#include "star/driver/make_model.hpp"
#include "star/driver/run.hpp"

namespace {

using namespace plx;

enum exit_code { finished = 0, failed = 1, wrong_input = 2, interrupted = 130 };

constexpr const char* stops_early =
    "\nstopping after the initial state and one step, with a checkpoint (signal again to stop immediately)\n";

struct command_line {
  std::string input, out, resume, list_options, model;
  std::vector<std::string> sets, allowed;
  unsigned threads = 0;
  bool validate = false, print_config = false, trace = false, quiet = false;
  bool makes_model = false;
};

int complain(std::string_view message, int code = wrong_input) {
  std::fprintf(stderr, "plx-star: %s\n", app::printable(message).c_str());
  return code;
}

/// Writes an answer to stdout; returns the exit code.
int answer_with(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return finished;
  return complain(fmt::format("cannot write to stdout: {}", std::generic_category().message(errno)));
}

int complain_of(const std::system_error& e) {
  if (e.code() != std::errc::resource_unavailable_try_again) return complain(e.what(), failed);
  return complain(
      "cannot start another thread: the limit of threads (ulimit -u, pids.max) or of memory (ulimit -v, ulimit -d) is "
      "reached; raise it, or use fewer workers (--threads)",
      failed);
}

void declare(CLI::App& app, command_line& c) {
  app.set_version_flag("--version", fmt::format("plx-star {} ({})", this_build().version, this_build().git));
  app.add_option("input", c.input, "TOML file that describes the run (inputs/*.toml)");
  app.add_option("--set", c.sets, "set an option after reading the input, e.g. --set mesh.max_level=4; any number")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--out", c.out, "folder for everything the run writes (default: run-<problem>)")->type_name("FOLDER");
  app.add_option("--resume", c.resume,
                 "continue the run in this folder from its newest checkpoint, or from the one that is named "
                 "(FOLDER/checkpoint/FILE)")
      ->type_name("FOLDER|FILE");
  app.add_option("--allow-change", c.allowed,
                 "with --resume: options of the physics that may differ from the checkpoint's, e.g. hydro.cfl")
      ->type_name("KEY,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--threads", c.threads, "workers (default: one per core that this process may use)")
      ->check(CLI::Range(1u, 1024u))
      ->option_text("N (1 to 1024)");
  app.add_flag("--validate", c.validate, "check the input and exit");
  app.add_flag("--print-config", c.print_config, "print every option's value and where it came from, and exit");
  app.add_option("--list-options", c.list_options, "print all options with type, default, range and meaning, and exit")
      ->expected(0, 1)
      ->check(CLI::IsMember({"markdown"}))
      ->type_name("[markdown]");
  app.add_flag("--trace", c.trace, "record every task: trace.json.gz, for ui.perfetto.dev");
  app.add_flag("--quiet", c.quiet, "no progress");
  CLI::App* model = app.add_subcommand(
      "make-model", "compute the stars of an input (problem binary or rotating_star), write them to a file, and exit");
  model->add_option("input", c.input, "TOML file that describes the stars")->required();
  model->add_option("-o,--out", c.model, "file to write (default: model.h5)")->type_name("FILE");
  model->add_option("--set", c.sets, "set an option after reading the input")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  model->add_option("--threads", c.threads, "workers (default: one per core that this process may use)")
      ->check(CLI::Range(1u, 1024u))
      ->option_text("N (1 to 1024)");
  model->callback([&c] { c.makes_model = true; });
}

result<std::unique_ptr<star::input>> read_input(const command_line& c, const star::resume_point& from) {
  if (!from.checkpoint.empty()) return star::input_of_resumed(from.checkpoint, from.folder, c.input, c.sets, c.allowed);
  if (!c.allowed.empty()) return error{"--allow-change: expected --resume with it"};
  if (c.input.empty())
    return error{"expected an input file, e.g. inputs/sedov.toml; plx-star --help lists the options"};
  return star::input::from_file(c.input, c.sets);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// The plan of a run; each process of a job creates its own.
struct run_plan {
  std::unique_ptr<star::input> in;
  std::optional<star::setup> setup;  // empty: only the values of the input were requested
  star::run_request request;
};

star::run_request request_of(const command_line& c, const star::resume_point& from, const std::string& problem) {
  star::run_request r;
  r.out = without_slash(!c.out.empty()      ? c.out
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

/// Writes nothing: the processes of a job do this before they communicate, so that none sees files of another.
result<run_plan> prepare(const command_line& c) {
  star::resume_point from;
  if (!c.resume.empty()) {
    auto found = star::find_resume_point(c.resume);
    if (!found) return found.error();
    from = *std::move(found);
  }
  auto in = read_input(c, from);
  if (!in) return in.error();
  run_plan w;
  w.in = *std::move(in);
  if (c.print_config) return w;
  auto setup = w.in->prepare();
  if (!setup) return setup.error();
  w.setup = *std::move(setup);
  w.request = request_of(c, from, w.in->problem_name);
  if (auto r = star::check_run(*w.in, *w.setup, w.request); !r) return r.error();
  return w;
}

job_options options_of(const command_line& c, runtime_options options, const run_plan& w) {
  if (c.threads != 0) options.workers = c.threads;
  options.stack_bytes = std::size_t{1} << 20;
  // By default, measurements are written to the folder of the run.
  auto measure = std::make_shared<probe::settings>(*options.measure);
  if (measure->output == probe::settings().output) measure->output = w.request.out;
  options.measure = std::move(measure);
  job_options all;
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
  switch (end.status) {
    case star::run_status::finished:
      if (end.speaks && !quiet) show(fmt::format("finished: {}/ (plot it with ./plx report {})\n", out, out));
      return finished;
    case star::run_status::interrupted:
      if (end.speaks) show(fmt::format("stopped; {}\n", end.message));
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
  app::progress progress(c.quiet || job.here() != 0, job.size() == 1);
  const star::run_end end = star::run(*w.in, *w.setup, job.home(), w.request, progress, net);
  progress.finish();
  if (job.size() > 1) {  // a launcher may signal the others when one process exits; they are about to exit anyway
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
  }
  if (!end.begun) job.leave_out_summary();
  if (!end.lost) job.run([] {});  // no process exits before all have arrived here
  return report_end(end, w.request.out, c.quiet);
}

/// Run by all processes, including those whose preparation failed: one of them reports the error.
int go(const command_line& c, const runtime_options& options, const result<run_plan>& mine) {
  job_options here;
  here.runtime.workers = 1;
  plx::job job(mine ? options_of(c, options, *mine) : here);
  step::exchange net(job.node());
  try {
    const auto prepared = star::agree(net, job.home(), mine ? result<void>() : result<void>(mine.error()));
    if (!prepared) return job.here() == 0 ? complain(prepared.error().message) : wrong_input;
    return run_with_others(c, *mine, job, net);
  } catch (...) {
    job.run([e = std::current_exception()] { std::rethrow_exception(e); });  // informs the other processes
    throw;
  }
}

/// plx-star make-model.
int make_model(const command_line& c, runtime_options options) {
  auto in = star::input::from_file(c.input, c.sets);
  if (!in) return complain(in.error().message);
  if (const auto setup = in.value()->prepare(); !setup) return complain(setup.error().message);
  if (c.threads != 0) options.workers = c.threads;
  if (isatty(STDERR_FILENO) != 0) log_to_stderr(log_level::info);  // iterations as they are made
  runtime rt(std::move(options));
  const std::string path = c.model.empty() ? "model.h5" : c.model;
  const build_info& build = this_build();
  const auto table = star::make_model(*in.value(), path, fmt::format("plx-star {} ({})", build.version, build.git), rt);
  if (!table) return complain(table.error().message);
  return answer_with(*table + fmt::format("written: {}\n", path));
}

/// Exit code of requests that need no run.
int answer(const command_line& c, const run_plan& w) {
  return answer_with((c.print_config ? w.in->table.text_effective() : "") + (c.validate ? "the input is fine\n" : ""));
}

/// CLI11 would take the next argument as the value: "--out= --validate" would start a run in the folder "--validate".
result<void> check_values(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a.starts_with("--") && a.find('=') == a.size() - 1)
      return error{fmt::format("{}: expected a value after '='", app::printable(a))};
  }
  return {};
}

/// Throws CLI::Success where the library produces the answer (--help).
result<void> read_command(CLI::App& app, runtime_options& options, int argc, char** argv) {
  try {
    auto read = read_options(argc, argv);  // removes --plx:...
    if (!read) return read.error();
    options = *std::move(read);
    if (auto complete = check_values(argc, argv); !complete) return complete;
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& e) {
    return error{std::string(e.what()) + "; plx-star --help lists the options"};
  } catch (const std::invalid_argument& e) {
    return error{e.what()};
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  app::open_standard_streams();
  CLI::App app("Gas on an adaptive mesh.", "plx-star");
  app.footer("--plx:KEY=VALUE sets what is measured and shown, e.g. --plx:serve=127.0.0.1:0 (docs/probe.md)");
  command_line c;
  declare(app, c);
  runtime_options options;
  try {
    const auto read = read_command(app, options, argc, argv);
    if (read && app.count("--list-options") > 0)
      return answer_with(c.list_options == "markdown" ? star::input::markdown() : star::input::text_options());
    if (read && c.makes_model) return make_model(c, options);
    const result<run_plan> mine = read ? prepare(c) : read.error();
    return mine && (c.print_config || c.validate) ? answer(c, *mine) : go(c, options, mine);
  } catch (const CLI::Success& s) {
    return app.exit(s);
  } catch (const job_error& e) {
    return e.report("plx-star");
  } catch (const std::invalid_argument& e) {  // from the job: cores, workers, measurement
    return complain(e.what());
  } catch (const std::system_error& e) {
    return complain_of(e);
  } catch (const std::bad_alloc&) {
    return complain("out of memory: the mesh is too large for this machine; lower mesh.max_level or refine less",
                    failed);
  } catch (const std::exception& e) {
    return complain(e.what(), failed);
  }
}
