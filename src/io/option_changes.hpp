// The options that a run has changed, for run.json: those that the command line set (--set), and those that a resumed
// run has with other values than its checkpoint.
//
// Thread safety: any thread. Cost: the text of a configuration. Example: io/test/option_changes_test.cpp
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plx {

/// The keys and values, as TOML, of a text made by config_table::toml(), in its order. The keys of the item i of a list
/// of sections begin with "name[i].".
std::vector<std::pair<std::string, std::string>> option_values(std::string_view toml);

/// An option with two values, as TOML; "" if the option does not exist there.
struct option_change {
  std::string key, was, value;
  bool operator==(const option_change&) const = default;
};

/// The options that differ between two texts made by config_table::toml().
std::vector<option_change> option_changes(std::string_view before, std::string_view now);

/// The value of "changed_options" in run.json, a list on one line: that in the run.json of `folder`, which a resumed
/// run continues ("": none), then `changes` with `by`, "--set" or "--resume", and the time of day.
std::string changed_options_json(const std::string& folder, std::span<const option_change> changes,
                                 std::string_view by);

}  // namespace plx
