// The part of run.json that all programs share: the machine, the process, the options that the run has changed.
//
// Thread safety: any thread. Cost: reading some files of /proc; the text of a configuration.
// Example: io/test/run_json_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plx {

struct machine_facts {
  std::string host, cpu;
  unsigned cores = 0;  ///< available to this process
};
machine_facts this_machine();

/// Identifies the process uniquely, so that a reader of "running" in run.json can check whether it still runs.
struct process_facts {
  std::int64_t pid = 0, started_ticks = 0;  ///< process number; start in clock ticks since the boot
  std::string boot, numbers;                ///< identifier of the boot; PID namespace of `pid`
};
process_facts this_process();

/// The time of day, as 2026-01-31T12:00:00Z.
std::string utc_now();

/// As JSON objects.
std::string json_of(const machine_facts& m);
std::string json_of(const process_facts& p);

/// "program" in the run.json of a folder; "" without one.
std::string program_of_run(const std::string& folder);

/// "status" in the run.json of a folder, such as "finished"; "" without one.
std::string run_status_in(const std::string& folder);

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
