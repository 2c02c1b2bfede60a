// Counters as text: for people, as CSV, as JSON, and the list of what there is.
//
// Thread safety: functions: everything. Cost: of reading the counters and of writing the text.
// Example: probe/counter_text_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probe/counter_registry.hpp"

namespace plx::probe {

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

}  // namespace plx::probe
