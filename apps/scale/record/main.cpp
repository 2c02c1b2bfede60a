// plx-scale-record: runs plx-star's simulation without its files and writes its measurements as JSON; or measures the
// cost of tasks and messages on this machine. Alone, or under mpirun (docs/scale.md).
//
// Exit codes: 0 success; 1 the run failed; 2 invalid input, with one line on stderr.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "costs.hpp"
#include "net/job.hpp"
#include "recording.hpp"

namespace {

using namespace plx;

int complain(const std::string& message, int code) {
  std::fprintf(stderr, "plx-scale-record: %s\n", message.c_str());
  return code;
}

int write(const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (file == nullptr) return complain(path + ": cannot be written", 2);
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool flushed = (path == "-" ? std::fflush(file) : std::fclose(file)) == 0;
  return whole && flushed ? 0 : complain(path + ": cannot be written", 2);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs plx-star's simulation and writes what it measured, or what messages cost here (docs/scale.md).");
  scale::record_request what;
  std::string out = "-";
  bool costs = false;
  const CLI::Range some(1, 1000000);
  app.add_option("input", what.input, "TOML file that describes the run (inputs/*.toml)");
  app.add_option("--set", what.sets, "set an option, as for plx-star")->allow_extra_args(false);
  app.add_option("--warm", what.warm, "number of segments before those that are compared")->check(some);
  app.add_option("--segments", what.segments, "number of segments, each from one regrid check to the next")
      ->check(some);
  app.add_flag("--alone", what.alone, "each process runs all by itself, all at the same time");
  app.add_flag("--costs", costs, "measure what tasks and messages cost, nothing else");
  app.add_option("--out", out, "file for the JSON (default: standard output)");
  try {
    app.parse(argc, argv);
    if (costs == !what.input.empty()) throw CLI::ValidationError("expected an input file, or --costs");
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? app.exit(e) : complain(e.what(), 2);
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
