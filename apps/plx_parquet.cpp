// plx-parquet: the Hubbard model on small clusters in the parquet approximation, for several numbers of frequencies.
//
// Exit codes: 0 finished; 1 the run failed, diverged or did not converge; 2 invalid input, too little memory, or output
// that cannot be written; 130 stopped by a signal, after an iteration.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/build_info.hpp"
#include "console.hpp"
#include "parquet/run/options.hpp"
#include "parquet/run/output.hpp"
#include "parquet/solver/solver.hpp"
#include "probe/settings.hpp"
#include "rt/runtime.hpp"

namespace {

using namespace plx;

enum exit_code { finished = 0, failed = 1, wrong_input = 2, interrupted = 130 };

struct command_line {
  std::string input, out, list_options;
  std::vector<std::string> sets;
  unsigned threads = 0;
  bool validate = false, print_config = false, quiet = false;
};

int complain(const std::string& message, int code = wrong_input) {
  std::fprintf(stderr, "plx-parquet: %s\n", app::printable(message).c_str());
  return code;
}

int answer(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return finished;
  return complain("cannot write to stdout");
}

void declare(CLI::App& app, command_line& c) {
  app.set_version_flag("--version", fmt::format("plx-parquet {} ({})", this_build().version, this_build().git));
  app.add_option("input", c.input, "TOML file that describes the run (inputs/parquet/*.toml)");
  app.add_option("--set", c.sets, "set an option after reading the input, e.g. --set model.u=4; any number")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--out", c.out, "folder for everything the run writes (default: run-parquet)")->type_name("FOLDER");
  app.add_option("--threads", c.threads, "workers (default: one per core that this process may use)")
      ->check(CLI::Range(1u, 1024u))
      ->option_text("N (1 to 1024)");
  app.add_flag("--validate", c.validate, "check the input, print the memory the run needs, and exit");
  app.add_flag("--print-config", c.print_config, "print every option's value and where it came from, and exit");
  app.add_option("--list-options", c.list_options, "print all options with type, default, range and meaning, and exit")
      ->expected(0, 1)
      ->check(CLI::IsMember({"markdown"}))
      ->type_name("[markdown]");
  app.add_flag("--quiet", c.quiet, "no progress");
}

// Prints a line per iteration, and writes the table of iterations.
class observer final : public parquet::solver_observer {
 public:
  observer(parquet::parquet_output& out, const parquet::hubbard_model& model, int frequencies, bool quiet)
      : out_(out), model_(model), frequencies_(frequencies), quiet_(quiet) {}
  void iterated(const parquet::iteration_report& r) override {
    if (auto w = out_.add(frequencies_, r); !w && !failure_) failure_ = w.error();
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
  parquet::parquet_output& out_;
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

unsigned workers_of(const runtime_options& options) {
  return options.workers != 0 ? options.workers : std::max(1u, std::thread::hardware_concurrency());
}

int run(const command_line& c, runtime_options options, const parquet::parquet_options& o, const std::string& config) {
  const std::string folder = c.out.empty() ? "run-parquet" : c.out;
  auto out = parquet::parquet_output::create(folder, config, o);
  if (!out) return complain(out.error().message);
  if (!c.quiet) std::fprintf(stderr, "the run needs %.3g GB of memory\n", 1e-9 * o.memory_bytes(workers_of(options)));
  auto measure = std::make_shared<probe::settings>(*options.measure);
  if (measure->output == probe::settings().output) measure->output = folder;
  options.measure = std::move(measure);
  app::handle_stop_signals("\nstopping after this iteration (signal again to stop immediately)\n");
  const auto model = o.make_model().value();
  std::string unconverged;
  runtime rt(options);
  for (const int n : o.frequencies) {
    observer watch(*out, model, n, c.quiet);
    const auto grid = std::make_shared<const parquet::vertex_grid>(model.lattice, n, o.bosons_of(n));
    const auto done = rt.run([&] { return parquet::solve(model, grid, o.settings(), watch); });
    if (watch.failure()) return complain(watch.failure()->message);
    if (!done) {
      if (auto r = out->finish(); !r) return complain(r.error().message);
      return complain(fmt::format("grid.frequencies {}: {}", n, done.error().message), failed);
    }
    if (auto r = out->add(*done); !r) return complain(r.error().message);
    if (auto r = out->finish(); !r) return complain(r.error().message);
    if (done->stopped) {
      std::printf("stopped: %s/ has what was finished\n", folder.c_str());
      return interrupted;
    }
    print_solution(*done);
    if (!done->converged)
      unconverged += fmt::format("{}{} (residual {:.2g})", unconverged.empty() ? "" : ", ", n, done->last.residual);
  }
  if (unconverged.empty()) return finished;
  return complain(
      fmt::format("not converged after {} iterations with grid.frequencies {}; expected residuals below {:.2g}: "
                  "raise loop.iterations, or lower loop.damping",
                  o.iterations, unconverged, o.tolerance),
      failed);
}

int start(const command_line& c, runtime_options options, parquet::parquet_options& o, config_table& table) {
  if (c.input.empty())
    return complain("expected an input file, e.g. inputs/parquet/2x2.toml; plx-parquet --help lists the options");
  if (auto r = table.load_file(c.input); !r) return complain(r.error().message);
  for (const auto& s : c.sets)
    if (auto r = table.set(s); !r) return complain(r.error().message);
  if (c.print_config) return answer(table.text_effective());
  if (auto r = o.check(); !r) return complain(r.error().message);
  if (c.threads != 0) options.workers = c.threads;
  const unsigned workers = workers_of(options);
  if (auto r = o.check_memory(workers); !r) return complain(r.error().message);
  if (c.validate)
    return answer(
        fmt::format("the input is fine; the run needs {:.3g} GB of memory\n", 1e-9 * o.memory_bytes(workers)));
  return run(c, options, o, table.toml());
}

}  // namespace

int main(int argc, char** argv) {
  app::open_standard_streams();
  CLI::App program("The Hubbard model on small clusters in the parquet approximation.", "plx-parquet");
  program.footer("--plx:KEY=VALUE sets what is measured and shown, e.g. --plx:serve=127.0.0.1:0 (docs/probe.md)");
  command_line c;
  declare(program, c);
  parquet::parquet_options o;
  config_table table;
  o.describe(table);
  try {
    auto options = read_options(argc, argv);  // removes --plx:...
    if (!options) return complain(options.error().message);
    program.parse(argc, argv);
    if (program.count("--list-options") > 0)
      return answer(c.list_options == "markdown" ? table.markdown() : table.text_options());
    return start(c, *options, o, table);
  } catch (const CLI::Success& s) {
    return program.exit(s);
  } catch (const CLI::ParseError& e) {
    return complain(std::string(e.what()) + "; plx-parquet --help lists the options");
  } catch (const std::invalid_argument& e) {
    return complain(e.what());
  } catch (const std::exception& e) {
    return complain(e.what(), failed);
  }
}
