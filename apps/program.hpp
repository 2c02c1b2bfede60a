// The common part of the command lines of the programs: options, answers, messages, exit codes.
//
// Thread safety: main alone. Cost: none. Example: apps/plx_parquet.cpp
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "console.hpp"
#include "io/run_json.hpp"
#include "rt/runtime.hpp"

namespace plx {
class job;
}

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

/// Returns `found`, the error of an input with this text, or, if the file is an input of another program (plx-star,
/// plx-dca, plx-parquet), an error that names that program.
error error_of_input(const std::string& path, std::string_view text, error found);
/// Returns `found`, the error of a --set, or, if its key is unknown and one of another program, an error that names it.
error error_of_set(error found);

/// print_answer(); in a job only the first process writes.
int answer(const std::string& text, int code = finished);
/// The exit code of the exception that is being handled, after its message.
int exit_of_exception(const CLI::App& app);

/// The last call of main() of a program that uses OpenBLAS. After an error it ends the process without destructors of
/// libraries: OpenBLAS's waits for its threads, which retry indefinitely to allocate where address space is limited.
/// Not called while an exception is handled: a job_error releases the other processes when it is destroyed.
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
  /// "failed"; with wait_s > 0 only if no other process has ended the status "running" of this run within that time.
  /// Two processes whose times end within milliseconds may both write.
  void write_failed(double wait_s, const std::string& message) const noexcept;

 private:
  /// The process and the time at which the run in the folder has begun, as in run.json; "": it is not running.
  std::string running() const;

  std::string folder_, changed_options_, started_ = utc_now();
  std::size_t workers_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Informs the other processes that this exception ends the run of this one, unless job::run() has thrown it.
void leave_job(plx::job& job, const std::exception_ptr& e) noexcept;
/// The exit code of a run that has ended by the exception that is being handled, on each process that it has ended. One
/// of them (net/error.hpp: reports_failure) prints the message and writes "failed" to the record; null: the run had not
/// begun. Should that process have no record, or die before it writes, processes 0 and 1 write it after 2 and 4 s, as
/// far as they survive and are not that process. `warnings`: for the record, after the message; `advice`: the same, and
/// printed.
int end_failed_run(plx::job& job, const run_record* record, const std::string& warnings = {},
                   const std::string& advice = {});

/// True if this is a terminal: mpirun gives its processes terminals of their own, even if its output goes to a file.
bool is_terminal(int fd);
/// Columns of the terminal; 80 if it has none.
int columns_of(int fd);
/// Hours, minutes and seconds; "-:--" above `most_s` and if it is not finite.
std::string clock_text(double s, double most_s);

/// A folder's name without slashes at the end.
std::string without_slash(std::string path);

}  // namespace plx::app
