// Prints counters: now and then, and at the end; as text, CSV or JSON; to stdout, stderr or a file.
//
// What cannot be written to the file (no such folder, a full disk) is said once and goes to stderr instead, so that the
// numbers are not lost; the file is tried again each time. A file that somebody took away is made again. A pattern that
// nothing matches is said once, with the nearest name, and is tried again: the counter may come later. A consumer that
// does not read (a full pipe, a FIFO without a reader, a stopped terminal) delays a call by at most `patience_s`; what
// it does not take is dropped, and one line on stderr at the end gives the number of dropped prints.
// Thread safety: one call at a time. Cost: of reading the counters and writing a line for each.
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

// Counters as text: for people, as CSV, as JSON, and the list of what there is.
//
// Thread safety: functions: everything. Cost: of reading the counters and of writing the text.
// Example: probe/counters/test/counter_text_test.cpp

/// One line per counter: time, value with a unit that people read ("1.5 MiB", "20 us"), name. A counter that could not
/// be read says why.
std::string counters_as_text(const std::vector<counter_value>& values, double time_s);
/// "time_s,name,value,unit" lines, without a header; nan where there is no value.
std::string counters_as_csv(const std::vector<counter_value>& values, double time_s);
/// The first line of counters as CSV.
inline constexpr std::string_view counters_csv_header = "time_s,name,value,unit\n";
/// One object in one line, without a line break:
///   {"time_s":1.5,"counters":[{"name":"/a/x","value":1,"unit":"s","help":"...","monotonic":true}]}
/// `value` is null where there is none, and "problem" says why.
std::string counters_as_json(const std::vector<counter_value>& values, double time_s);

/// All that match, as counters_as_json(); the time is seconds since the machine started. When nothing matches:
/// {"error":"..."}.
std::string counters_json(const counter_registry& registry, std::string_view pattern = "/*{*}/*@*");

/// Name, unit and description in columns. Not `full`: instances that differ in their numbers alone are one line with
/// '*' for the number, as in "worker-thread#*", the order being that of the first.
std::string list_as_text(const std::vector<counter_info>& counters, bool full = false);

/// How counters are written down.
enum class counter_format : std::uint8_t { text, csv, json };

/// Which counters are printed, how, and where to.
struct printing {
  std::vector<std::string> patterns;
  counter_format format = counter_format::text;
  /// "stdout", "stderr", or a path. A file is begun anew.
  std::string to = "stdout";
  /// Whether each counter counts from where it was printed.
  bool reset = false;
};

class counter_printer {
 public:
  /// The registry must outlive it. Statistics that are asked for begin to be sampled.
  counter_printer(counter_registry& registry, printing how);
  ~counter_printer();
  counter_printer(const counter_printer&) = delete;
  counter_printer& operator=(const counter_printer&) = delete;

  /// The longest wait for a consumer that does not read.
  static constexpr double patience_s = 1;

  /// Prints all that match now; `last`: and the last values of those that have ended (keep_last_values()). Its error is
  /// the file's or a pattern's; what could be printed has been.
  result<void> print(bool last = false);

 private:
  result<void> write(const std::string& text);

  counter_registry& registry_;
  const printing how_;
  const double begin_s_;
  bounded_output output_, error_output_{"stderr"};
  std::set<std::string, std::less<>> said_;
};

/// Prints the list of all counters, what can be made of them, and then each counter as it is added, until it is gone.
class counter_lister {
 public:
  /// Not `full`: workers and the like are one line. The registry must outlive it.
  counter_lister(counter_registry& registry, bool full);
  ~counter_lister();
  counter_lister(const counter_lister&) = delete;
  counter_lister& operator=(const counter_lister&) = delete;

 private:
  counter_registry& registry_;
  const bool full_;
  std::set<std::string, std::less<>> shown_;
};

}  // namespace plx::probe
