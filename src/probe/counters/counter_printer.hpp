// Prints counters, periodically and at the end; as text, CSV or JSON; to stdout, stderr or a file.
//
// If the file cannot be written (missing folder, full disk), the problem is reported once and the output goes to stderr
// instead, so that no values are lost; the file is retried each time. A deleted file is created again. A pattern
// without a match is reported once, with the nearest name, and retried, because the counter may be added later. A
// consumer that does not read (a full pipe, a FIFO without a reader, a stopped terminal) delays a call by at most
// `timeout_s`; output that it does not accept is dropped, and the number of dropped prints is reported on stderr at
// the end.
// Thread safety: one call at a time. Cost: reading the counters and writing a line for each.
// Example: session/test/counter_printer_test.cpp
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "probe/counters/bounded_output.hpp"
#include "probe/counters/counter_registry.hpp"

namespace plx::probe {

class recorder;

// Counters as text, CSV or JSON, and the list of counters.
//
// Thread safety: all functions are thread-safe. Cost: reading the counters and writing the text.
// Example: probe/counters/test/counter_text_test.cpp

/// One line per counter: time, value in a readable unit ("1.5 MiB", "20 us"), name. If a counter could not be read, the
/// line shows the reason.
std::string counters_as_text(const std::vector<counter_value>& values, double time_s);
/// "time_s,name,value,unit" lines, without a header; nan if there is no value.
std::string counters_as_csv(const std::vector<counter_value>& values, double time_s);
/// The first line of counters as CSV.
inline constexpr std::string_view counters_csv_header = "time_s,name,value,unit\n";
/// One object on one line, without a line break:
///   {"time_s":1.5,"counters":[{"name":"/a/x","value":1,"unit":"s","help":"...","monotonic":true}]}
/// If there is no value, `value` is null and "problem" contains the reason.
std::string counters_as_json(const std::vector<counter_value>& values, double time_s);

/// Name, unit and description in columns. Unless `full`, instances that differ only in their numbers are combined into
/// one line with '*' for the number, as in "worker-thread#*", at the position of the first.
std::string list_as_text(const std::vector<counter_info>& counters, bool full = false);

/// Output formats of counters.
enum class counter_format : std::uint8_t { text, csv, json };

/// Which counters to print, how, and where.
struct printing {
  std::vector<std::string> patterns;
  counter_format format = counter_format::text;
  /// "stdout", "stderr", or a path. An existing file is overwritten.
  std::string to = "stdout";
  /// Whether each counter restarts from the value printed.
  bool reset = false;
};

class counter_printer {
 public:
  /// The registry must outlive it. Sampling starts for the statistics among the patterns.
  counter_printer(counter_registry& registry, printing how);
  ~counter_printer();
  counter_printer(const counter_printer&) = delete;
  counter_printer& operator=(const counter_printer&) = delete;

  /// The longest wait for a consumer that does not read.
  static constexpr double timeout_s = 1;

  /// Prints all matching counters; `last`: also the last values of those that have ended (keep_last_values()). Returns
  /// the error of the file or of a pattern; everything else has been printed.
  result<void> print(bool last = false);

 private:
  result<void> write(const std::string& text);

  counter_registry& registry_;
  const printing how_;
  const double begin_s_;
  bounded_output output_, error_output_{"stderr"};
  std::set<std::string, std::less<>> reported_;
};

/// Periodically writes counters into counters.csv of the run's folder and, as curves, into the trace.
///
/// Thread safety: one call at a time. Errors: a file that cannot be written is reported once, in the log, and retried;
/// the curves continue. Cost: reading the counters and writing a line for each. Example:
/// session/test/counter_printer_test.cpp
class counter_sampler {
 public:
  /// The arguments must outlive it. `path`: the CSV file, which is overwritten; its folder is created.
  counter_sampler(recorder& r, counter_registry& counters, std::vector<std::string> patterns, std::string path);
  /// Reads all matching counters once. Returns the first error.
  result<void> sample();

 private:
  result<void> write(const std::string& text);
  recorder& recorder_;
  counter_registry& counters_;
  const std::vector<std::string> patterns_;
  const std::string path_;
  const double begin_s_;
  bool reported_ = false;
};

/// Prints the list of all counters and of the derived counters that can be requested, and then each counter as it is
/// added, while this object exists. Lines that a consumer does not take within counter_printer::timeout_s are dropped,
/// and reported in the log.
class counter_lister {
 public:
  /// Unless `full`, workers and other instances are combined into one line. The registry must outlive it.
  counter_lister(counter_registry& registry, bool full);
  ~counter_lister();
  counter_lister(const counter_lister&) = delete;
  counter_lister& operator=(const counter_lister&) = delete;

 private:
  void write(const std::string& text);

  counter_registry& registry_;
  const bool full_;
  bounded_output output_{"stdout"};
  std::set<std::string, std::less<>> shown_;
};

}  // namespace plx::probe
