// What is measured and where it goes: one plain struct, set from a file, the environment, the command line, or code.
//
// Each key "trace" is the environment variable PLX_TRACE, the argument --plx:trace=..., and [plx] trace = ... of the
// TOML file that PLX_CONFIG names; dots and dashes of a key are underscores in the environment. The command line goes
// before the environment, and that before the file. A flag's argument may leave out "=true".
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
  /// The folder for all files of a run; made when the first one is written.
  std::string output = "plx-run";

  /// Which profiles are written at the end: of "screen", "csv", "tau", separated by commas; "1" is "screen,csv".
  std::string profile{};
  /// Which traces: of "json", "otf2"; "1" is "json".
  std::string trace{};
  /// Records per worker that wait to be drained, 32 bytes each.
  std::int64_t trace_records = std::int64_t{1} << 18;
  /// Records of a trace that are kept in memory, of all workers together, 32 bytes each; while the files are written, a
  /// record takes some 100 bytes, and the graph of tasks as much again. Later records are dropped and counted.
  std::int64_t trace_limit = std::int64_t{1} << 24;
  /// The share of the workers' time that measuring may take while a trace is recorded; when it takes more, less is
  /// traced from then on (probe/record/trace_budget.hpp). 0: no limit.
  double trace_budget = 0;
  /// Files made of the trace: the call-path tree, the task graph (DOT), concurrency over time, the critical path.
  bool tree = false;
  bool graph = false;
  bool concurrency = false;
  bool critical_path = false;
  /// Whatever `parallax diagnose` wants: profile, waits, workers, some counters over time, the longest path of tasks.
  bool diagnose = false;
  /// Share of the tasks whose times are written one by one to scatter.csv; 0: none.
  double scatter = 0;

  /// Counters that are printed at the end, and every print_interval_s seconds if that is not 0: names and patterns
  /// separated by commas, braces around one that has commas of its own (probe/counters/counter_name.hpp). Given several
  /// times, they add up.
  std::string print_counter{};
  double print_interval_s = 0;
  std::string print_format = "text";  // or csv, json
  std::string print_to = "stdout";    // or stderr, or a path
  bool print_reset = false;           // each counts from where it was printed
  /// The list of all counters is printed at the start, and the program goes on: "1" shows workers and the like in one
  /// line, "full" every counter.
  std::string list_counters{};
  /// Counters that are written to counters.csv and, as curves, into the trace, every sample_interval_s seconds if that
  /// is not 0.
  std::string sample_counter =
      "/threads/idle-rate,/threads/count/tasks,/scheduler/queue/length,/scheduler/tasks/suspended,"
      "/machine/memory/resident";
  double sample_interval_s = 0;
  /// Policies that are switched on: of "worker-cap", "loop-grain", separated by commas (docs/probe.md, Policies).
  std::string policies{};
  /// The counter whose growth "worker-cap" looks at; empty: tasks finished.
  std::string throughput{};
  /// The folder in which results of tuning are kept; empty: parallax in the user's folder for caches; "none": nowhere.
  std::string tuning_cache{};
  /// Where the live page is served while the program runs: "127.0.0.1:0" (also "1"), "[::1]:8080"; "": not at all.
  std::string serve{};
  /// Allows addresses that other machines reach. What is sent is not encrypted.
  bool serve_beyond_loopback = false;
  /// Records per worker of the flight recorder: the last pieces of tasks that took 1 us or more. 0: none.
  std::int64_t flight = std::int64_t{1} << 16;
  /// How far back its file goes; and the signal upon which it is written while the program goes on: "USR2", ...
  double flight_seconds = 10;
  std::string flight_signal{};
  /// Events of every worker that the kernel counts, or "1" for all there are; events that PAPI counts; GPUs by NVML;
  /// and whether it is said when energy is not known (probe/monitor/). The libraries are found by the system if not
  /// named.
  std::string perf{};
  std::string papi{};
  /// How the operations of devices are timed while a profile or a trace is recorded (src/gpu): "events", around them
  /// in their streams; "activity", by the library's own records where it has any; "off".
  std::string gpu_timeline = "events";
  bool nvml = false;
  bool energy = false;
  std::string papi_library{};
  std::string nvml_library{};
  std::string cupti_library{};  // activity records of gpu_timeline

  // For the runtime alone, so that one table knows all arguments (rt/runtime_options.hpp says what they mean).
  int threads = 0;
  std::string cores{};
  std::string coalesce{};  // for net/coalescing.hpp

  /// Binds the members to their keys.
  void describe(config_table& t);
  /// True when something is to be recorded, printed, written or served.
  [[nodiscard]] bool any() const;
  /// True when there will be files in `output`.
  [[nodiscard]] bool writes_files() const;
};

/// Defaults, changed by the file that PLX_CONFIG names and by the environment.
result<settings> settings_from_environment();
/// The same, and then by the arguments "--plx:key=value", which are taken out of argv.
result<settings> settings_from_arguments(int& argc, char** argv);

/// A line for each variable of `environment` ("NAME=value", null at the end) that is no setting of Parallax but nearly
/// the name of one, as PLX_PROFLE is. The functions above print these lines on stderr, once in a process.
std::vector<std::string> mistyped_variables(const char* const* environment);

/// The words of a comma-separated list, without spaces around them.
std::vector<std::string> words_of(std::string_view list);
/// Whether `word` is one of them.
bool has_word(std::string_view list, std::string_view word);

}  // namespace plx::probe
