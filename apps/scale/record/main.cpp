// plx-scale-record: runs plx-star's simulation without its files and writes its measurements as JSON; or measures the
// cost of tasks and messages on this machine. Alone, or under mpirun (docs/scale.md).
//
// Exit codes: 0 success; 1 the run failed; 2 invalid input, with one line on stderr.

#include <CLI/CLI.hpp>
#include <string>

#include "base/file.hpp"
#include "console.hpp"
#include "costs.hpp"
#include "net/job.hpp"
#include "recording.hpp"

namespace {

using namespace plx;
using app::complain;

int write(const std::string& path, const std::string& text) {
  if (path == "-") return app::print_answer(text);
  const auto written = write_file(path, text);
  return written ? app::finished : complain(written.error().message);
}

}  // namespace

int main(int argc, char** argv) {
  app::start_console("plx-scale-record");
  CLI::App program(
      "Runs plx-star's simulation and writes what it measured, or what messages cost here (docs/scale.md).");
  scale::record_request what;
  std::string out = "-";
  bool costs = false;
  const CLI::Range some(1, 1000000);
  program.add_option("input", what.input, "TOML file that describes the run (inputs/*.toml)");
  program.add_option("--set", what.sets, "set an option, as for plx-star")->allow_extra_args(false);
  program.add_option("--warm", what.warm, "number of segments before those that are compared")->check(some);
  program.add_option("--segments", what.segments, "number of segments, each from one regrid check to the next")
      ->check(some);
  program.add_flag("--alone", what.alone, "each process runs all by itself, all at the same time");
  program.add_flag("--costs", costs, "measure what tasks and messages cost, nothing else");
  program.add_option("--out", out, "file for the JSON (default: standard output)");
  try {
    program.parse(argc, argv);
    if (costs == !what.input.empty()) throw CLI::ValidationError("expected an input file, or --costs");
  } catch (const CLI::ParseError& e) {
    return app::exit_of_parse(program, e);
  }
  try {
    job_options options;
    options.runtime.workers = 1;
    options.runtime.stack_bytes = std::size_t{1} << 20;
    job j(options);
    const result<std::string> text = costs ? result<std::string>(scale::measure_costs(j)) : scale::record(j, what);
    if (!text) return j.here() == 0 ? complain(text.error().message, 1) : 1;
    j.run([] {});  // no locality leaves before all have arrived
    return j.here() == 0 ? write(out, *text) : 0;
  } catch (const job_error& e) {
    return e.report("plx-scale-record");
  } catch (const std::exception& e) {
    return complain(e.what(), 1);
  }
}
