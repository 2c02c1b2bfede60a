// Settings of the measurement: one plain struct, set from a file, the environment, the command line, or code.
//
// A key "trace" is the environment variable PLX_TRACE, the argument --plx:trace=..., and [plx] trace = ... in the TOML
// file that PLX_CONFIG names; dots and dashes of a key become underscores in the environment. The command line takes
// precedence over the environment, and the environment over the file. "=true" may be omitted from the argument of a
// flag.
// Thread safety: none. Errors: one line with the nearest known key. Example: probe/test/settings_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"

namespace plx::probe {

struct settings {
  /// The folder for all files of a run, created when the first one is written.
  std::string output = "plx-run";

  /// Profiles to write at the end: "screen", "csv", "tau", separated by commas; "1" is "screen,csv".
  std::string profile{};
  /// Whether to write trace.plxt while the program runs, for plx-trace and `parallax what-if`.
  bool trace = false;
  /// In a job, the localities whose number is a multiple of this record a trace: 1, all of them. At least 1.
  std::int64_t trace_localities = 1;
  /// Capacity of each worker's trace ring, in records of 32 bytes.
  std::int64_t trace_records = std::int64_t{1} << 18;
  /// The share of the workers' time that measurement may take while a trace is recorded; above it, tracing is reduced
  /// from then on (probe/record/trace_budget.hpp). 0: no limit.
  double trace_budget = 0;
  /// All input of `parallax diagnose`: profile, waits, workers, some counters over time, the longest path of tasks.
  bool diagnose = false;

  /// Counters to print at the end, and every print_interval_s seconds if that is not 0: names and patterns separated by
  /// commas, with braces around a name that contains commas (probe/counters/counter_name.hpp). Repeated arguments add
  /// up.
  std::string print_counter{};
  double print_interval_s = 0;
  std::string print_format = "text";  // or csv, json
  std::string print_to = "stdout";    // or stderr, or a path
  bool print_reset = false;           // each counter restarts from the value printed
  /// Prints the list of all counters at the start: "1" combines workers and other instances into one line, "full" shows
  /// every counter. The program then runs as usual.
  std::string list_counters{};
  /// Counters to write to counters.csv and, as curves, into the trace, every sample_interval_s seconds if that is not
  /// 0.
  std::string sample_counter =
      "/threads/idle-rate,/threads/count/tasks,/scheduler/queue/length,/scheduler/tasks/suspended,"
      "/machine/memory/resident";
  double sample_interval_s = 0;
  /// Stacks sampled per second of CPU time of each worker (probe/sample/sampler.hpp); 0: none. Writes stacks.collapsed,
  /// stacks.svg and stacks.csv.
  double sample_stacks_hz = 0;
  /// Policies to enable, separated by commas: "worker-cap", "loop-grain".
  std::string policies{};
  /// The counter whose growth "worker-cap" maximises; empty: finished tasks.
  std::string throughput{};
  /// Virtual speed-ups of task types (rt/measure/speedup.hpp): names and patterns of types separated by commas, with
  /// braces around a name that contains commas; "1": the largest types. Not with trace, diagnose or policies.
  std::string speedup{};
  /// The measure of speed-ups: a progress point (control/progress.hpp), or a task type whose finished tasks are
  /// counted; empty: the first progress point that is passed.
  std::string progress{};
  /// The folder of stored tuning results; empty: "parallax" in the user's cache folder; "none": results are not stored.
  std::string tuning_cache{};
  /// The address of the live page while the program runs: "127.0.0.1:0" (also "1"), "[::1]:8080"; "": no live page.
  std::string serve{};
  /// Allows addresses that other machines can reach. The connection is not encrypted.
  bool serve_beyond_loopback = false;
  /// Records per worker of the flight recorder: the last slices of at least 1 us. 0: none.
  std::int64_t flight = std::int64_t{1} << 16;
  /// The period that the flight recorder's file covers; and the signal that requests a file from a running program:
  /// "USR2", ...
  double flight_seconds = 10;
  std::string flight_signal{};
  /// Events that the kernel counts for every worker, or "1" for all available ones; events that PAPI counts; GPU
  /// counters of NVML; and whether to report why energy is not measured (probe/monitor/). The system's libraries are
  /// used unless a file is named.
  std::string perf{};
  /// Whether the events of `perf` are counted by task type as well; profiles are written.
  bool perf_tasks = false;
  /// Whether stated work (probe/record/work.hpp) is counted by task type, and the machine's limits are measured at the
  /// end; profiles are written.
  bool roofline = false;
  std::string papi{};
  /// How device operations are timed while a profile or a trace is recorded (src/gpu): "events" around them in their
  /// streams; "activity": the library's own records if available; "off".
  std::string gpu_timeline = "events";
  bool nvml = false;
  bool energy = false;
  /// Tools that get the slices of tasks as ranges: "nvtx", "usdt", separated by commas (probe/ranges/range_output.hpp).
  std::string ranges{};
  /// Whether the measurement of the running program can be requested later (session/attach_server.hpp).
  bool attach = true;
  std::string papi_library{};
  std::string nvml_library{};
  std::string cupti_library{};  // activity records of gpu_timeline

  // For the runtime only, so that one table contains all arguments (documented in rt/runtime_options.hpp).
  int threads = 0;
  std::string cores{};
  std::string coalesce{};   // for net/coalescing.hpp
  std::int64_t spares = 0;  // how many localities of a job, the last ones, are spares (net/collectives.hpp)
  /// Which process of a job this is, and of how many; set by net::job.
  unsigned locality = 0, localities = 1;
  /// The processes of the job write the same files, to folders of their own; set by plx-exec.
  bool own_folder = false;
  /// The measurement began and may end while the program runs; set by session/attach_server.hpp.
  bool attached = false;

  /// Binds the members to their keys.
  void describe(config_table& t);
  /// True if anything is to be recorded, printed, written or served.
  [[nodiscard]] bool any() const;
  /// True if files will be written to `output`.
  [[nodiscard]] bool writes_files() const;
};

/// Defaults, overridden by the file that PLX_CONFIG names and by the environment.
result<settings> settings_from_environment();
/// The same, overridden by the arguments "--plx:key=value", which are removed from argv.
result<settings> settings_from_arguments(int& argc, char** argv);

/// Defaults, overridden by arguments "--plx:key=value" alone.
result<settings> settings_from_list(const std::vector<std::string>& arguments);

/// One line for each variable of `environment` ("NAME=value", terminated by null) that is not a setting of Parallax but
/// close to the name of one, such as PLX_PROFLE. The functions above print these lines on stderr once per process.
std::vector<std::string> mistyped_variables(const char* const* environment);

/// The words of a comma-separated list, without surrounding spaces.
std::vector<std::string> words_of(std::string_view list);
/// Whether `list` contains `word`.
bool has_word(std::string_view list, std::string_view word);

}  // namespace plx::probe
