// plx-star: gas on an adaptive mesh. Reads the command line and the input, starts the runtime, runs.
//
// Exit codes: 0 finished; 1 the run failed; 2 wrong input, or output that cannot be written; 130 stopped by a signal,
// after a checkpoint.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/build_info.hpp"
#include "plx_star_progress.hpp"
#include "rt/runtime.hpp"
#include "star/run.hpp"

namespace {

using namespace plx;

enum exit_code { finished = 0, failed = 1, wrong_input = 2, interrupted = 130 };

volatile std::sig_atomic_t stop_signal = 0;

extern "C" void on_stop(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);  // the second one ends the program at once
  const char text[] = "\nstopping after this step, with a checkpoint (once more: stop at once)\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
}

struct command_line {
  std::string input, out, resume, list_options;
  std::vector<std::string> sets;
  unsigned threads = 0;
  bool validate = false, print_config = false, trace = false, quiet = false;
};

int complain(const std::string& message, int code = wrong_input) {
  std::fprintf(stderr, "plx-star: %s\n", message.c_str());
  return code;
}

void declare(CLI::App& app, command_line& c) {
  app.set_version_flag("--version", fmt::format("plx-star {} ({})", this_build().version, this_build().git));
  app.add_option("input", c.input, "TOML file that describes the run (inputs/*.toml)");
  app.add_option("--set", c.sets, "set an option after reading the input, e.g. --set mesh.max_level=4; any number")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--out", c.out, "folder for everything the run writes (default: run-<problem>)")->type_name("FOLDER");
  app.add_option("--resume", c.resume, "go on from the newest checkpoint of the run in this folder")
      ->type_name("FOLDER");
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
}

result<std::unique_ptr<star::input>> read_input(const command_line& c, const std::string& checkpoint) {
  if (!checkpoint.empty()) return star::input_of_resumed(checkpoint, c.resume, c.input, c.sets);
  if (c.input.empty())
    return error{"expected an input file, e.g. inputs/sedov.toml; plx-star --help lists the options"};
  return star::input::from_file(c.input, c.sets);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

int report_end(const star::run_end& end, const std::string& out, bool quiet) {
  switch (end.status) {
    case star::run_status::finished:
      if (!quiet) fmt::print("finished: {}/ (./plx report {} draws it)\n", out, out);
      return finished;
    case star::run_status::interrupted:
      fmt::print("stopped; {}\n", end.message);
      return interrupted;
    case star::run_status::failed:
      break;
  }
  return complain(end.message, end.output_failed ? wrong_input : failed);
}

int start(const command_line& c, const star::input& in, const star::setup& setup, const star::run_request& request) {
  std::signal(SIGINT, on_stop);
  std::signal(SIGTERM, on_stop);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is then an error like a full disk
  app::progress progress(c.quiet, stop_signal);
  runtime_options options;
  options.workers = c.threads;
  options.stack_bytes = std::size_t{1} << 20;
  runtime rt(options);
  const star::run_end end = star::run(in, setup, rt, request, progress);
  progress.finish();
  return report_end(end, request.out, c.quiet);
}

int go(const command_line& c) {
  std::string checkpoint;
  if (!c.resume.empty()) {
    auto found = star::newest_checkpoint(without_slash(c.resume));
    if (!found) return complain(found.error().message);
    checkpoint = *found;
  }
  const auto in = read_input(c, checkpoint);
  if (!in) return complain(in.error().message);
  if (c.print_config) return std::fputs(in.value()->table.text_effective().c_str(), stdout), finished;
  const auto setup = in.value()->prepare();
  if (!setup) return complain(setup.error().message);

  star::run_request request;
  request.out = without_slash(!c.out.empty()      ? c.out
                              : !c.resume.empty() ? c.resume
                              : c.validate        ? ""  // no folder is made, so none can be in the way
                                                  : "run-" + in.value()->problem_name);
  request.resume_checkpoint = checkpoint;
  request.trace = c.trace;
  const build_info& build = this_build();
  request.version = build.version, request.git = build.git;
  request.compiler = build.compiler, request.build_type = build.type;
  if (auto r = star::check_run(*in.value(), *setup, request); !r) return complain(r.error().message);
  if (c.validate) return fmt::print("the input is fine\n"), finished;
  return start(c, *in.value(), *setup, request);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Gas on an adaptive mesh.", "plx-star");
  command_line c;
  declare(app, c);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& s) {
    return app.exit(s);
  } catch (const CLI::ParseError& e) {
    return complain(std::string(e.what()) + "; plx-star --help lists the options");
  }
  if (app.count("--list-options") > 0)
    return fmt::print("{}", c.list_options == "markdown" ? star::input::markdown() : star::input::text_options()), 0;
  try {
    return go(c);
  } catch (const std::bad_alloc&) {
    return complain("out of memory: the mesh is too large for this machine; lower mesh.max_level or refine less",
                    failed);
  } catch (const std::exception& e) {
    return complain(e.what(), failed);
  }
}
