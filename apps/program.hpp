// The common part of the command lines of the programs: options, answers, messages, exit codes.
//
// Thread safety: main alone. Cost: none. Example: apps/plx_parquet.cpp
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "console.hpp"
#include "io/run_json.hpp"
#include "rt/runtime.hpp"

namespace plx::app {

/// Options of every program that solves an input.
struct common_options {
  std::string input, out, list_options;
  std::vector<std::string> sets;
  unsigned threads = 0;
  bool validate = false, print_config = false, quiet = false;
};

/// Starts the console, and sets the advice for runs that need less memory. The first call of main().
void start_program(const char* name, const char* less_memory);
/// "NAME VERSION (COMMIT)".
std::string name_of_build();

/// Adds the common options, with --version, to a program of that name. `inputs`: what the input is; `folder`: the
/// default of --out; `validates`: what --validate does.
void declare_common(CLI::App& app, common_options& c, const std::string& inputs, const std::string& folder,
                    const std::string& validates = "check the input and exit");
/// --set and --threads alone, for subcommands.
void declare_set_and_threads(CLI::App& app, common_options& c);

/// Parses the arguments; --plx:... are removed and become runtime options. Throws CLI::Success where the library
/// produces the answer (--help). Error: one line.
result<void> read_command(CLI::App& app, runtime_options& options, int argc, char** argv);

/// print_answer(); in a job only the first process writes.
int answer(const std::string& text, int code = finished);
/// The exit code of the exception that is being handled, after its message.
int exit_of_exception(const CLI::App& app);

/// The last call of main() of a program that uses OpenBLAS. After an error it ends the process without destructors of
/// libraries: OpenBLAS's waits for its threads, which retry for ever to allocate where address space is limited.
int end_program(int code);

/// The workers that a run would start.
unsigned workers_of_run(const common_options& c, const runtime_options& options);
/// The number of workers, and the folder of the run for measurements unless --plx: names another.
runtime_options options_of_run(const common_options& c, runtime_options options, const std::string& folder);

/// run.json of a run: program, build, machine, process, state. A reader that finds "running" can check the process.
class run_record {
 public:
  /// `changed_options`: changed_options_json() (io/run_json.hpp).
  run_record(std::string folder, std::size_t workers, std::string changed_options);
  /// status: "running", "finished", "interrupted" or "failed", with the message of the error.
  result<void> write(const char* status, std::string_view message = "") const;
  /// Writes "failed" with the message of the exception that is being handled, as well as it can.
  void write_exception() const noexcept;
  /// Calls f(). An exception leaves the status "failed" with its message.
  template <class F>
  auto guard(F&& f) const {
    try {
      return f();
    } catch (...) {
      write_exception();
      throw;
    }
  }

 private:
  std::string folder_, changed_options_, started_ = utc_now();
  std::size_t workers_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// A folder's name without slashes at the end.
std::string without_slash(std::string path);

}  // namespace plx::app
