// The parts of a counter's name "/object{instance}/name@parameters", lists of names, and matching with wildcards.
//
// Braces are the quotes: an instance may hold a whole counter's name, with braces of its own, and so may an element of
// a list. Everything between matching braces belongs together:
//   "/statistics{/threads{locality#0/total}/idle-rate}/average@100"
//   "{/statistics{/a/x}/rolling_max@100,5}, /b/y"                    a list of two
// Thread safety: everything; a counter_name views the text it was made from. Example:
// probe/counters/test/counter_name_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plx::probe {

struct counter_name {
  std::string_view object;
  std::string_view instance;    // "" when absent
  std::string_view name;        // may hold '/'
  std::string_view parameters;  // "" when absent

  /// The parts, or nothing when the text is not of that form.
  static std::optional<counter_name> parse(std::string_view text);
  /// The instance's "locality#N": what stands between '#' and the end or the next '/'; "" when it names none.
  [[nodiscard]] std::string_view locality() const;
};

/// Whether `text` is `pattern` with each '*' standing for any text, "" included.
bool wildcard_match(std::string_view pattern, std::string_view text);

/// Part by part. A pattern without an instance takes counters without one, and totals.
bool matches(const counter_name& pattern, const counter_name& name);

/// The elements of a list: separated by commas that stand in no braces, without the spaces around them and without the
/// braces around a whole element; empty ones are left out. A number alone belongs to the element before it, as in
/// "/statistics{/a/x}/rolling_max@100,5". Nothing when braces do not match.
std::optional<std::vector<std::string>> split_counters(std::string_view list);

}  // namespace plx::probe
