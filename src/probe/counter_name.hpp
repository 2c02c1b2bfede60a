// The parts of a counter's name "/object{instance}/name@parameters", and matching with wildcards.
//
// Thread safety: everything; a counter_name views the text it was made from. Example: probe/counter_registry_test.cpp
#pragma once

#include <optional>
#include <string_view>

namespace plx::probe {

struct counter_name {
  std::string_view object;
  std::string_view instance;    // "" when absent
  std::string_view name;        // may hold '/'
  std::string_view parameters;  // "" when absent

  /// The parts, or nothing when the text is not of that form.
  static std::optional<counter_name> parse(std::string_view text);
};

/// Whether `text` is `pattern` with each '*' standing for any text, "" included.
bool wildcard_match(std::string_view pattern, std::string_view text);

/// Part by part. A pattern without an instance takes counters without one, and totals.
bool matches(const counter_name& pattern, const counter_name& name);

}  // namespace plx::probe
