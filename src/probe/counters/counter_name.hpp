// The parts of a counter's name "/object{instance}/name@parameters", lists of names, and matching with wildcards.
//
// Braces quote: an instance may contain a complete counter name with braces of its own, and so may an element of a
// list. The text between matching braces is one unit:
//   "/statistics{/threads{locality#0/total}/idle-rate}/average@100"
//   "{/statistics{/a/x}/rolling_max@100,5}, /b/y"                    a list of two
// Thread safety: all functions are thread-safe; a counter_name views the text it was parsed from.
// Example: probe/counters/test/counter_name_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plx::probe {

struct counter_name {
  std::string_view object;
  std::string_view instance;    // "" when absent
  std::string_view name;        // may contain '/'
  std::string_view parameters;  // "" when absent

  /// The parts, or nothing if the text is malformed.
  static std::optional<counter_name> parse(std::string_view text);
  /// The number in the instance's "locality#N": the text between '#' and the end or the next '/'; "" if there is none.
  [[nodiscard]] std::string_view locality() const;
};

/// Whether `text` matches `pattern`, in which each '*' stands for any text, "" included.
bool wildcard_match(std::string_view pattern, std::string_view text);

/// Matches part by part. A pattern without an instance matches counters without one, and totals.
bool matches(const counter_name& pattern, const counter_name& name);

/// The elements of a list: separated by commas outside braces, without surrounding spaces and without braces around a
/// whole element; empty ones are omitted. A number alone belongs to the element before it, as in
/// "/statistics{/a/x}/rolling_max@100,5". Nothing if braces do not match.
std::optional<std::vector<std::string>> split_counters(std::string_view list);

}  // namespace plx::probe
