// All monitors at once, as the settings of a run want them.
//
// Thread safety, cost: of each monitor. Example: probe/monitor/monitors_test.cpp
#pragma once

#include <string>
#include <vector>

#include "probe/counter_registry.hpp"
#include "probe/monitor/watched_thread.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

struct monitors {
  std::vector<registration> counters;
  /// What was asked for and is not there, and why: a line each.
  std::vector<std::string> missing;
};

/// /proc and energy always; perf, PAPI and NVML if `wanted` says so. Without threads, perf and PAPI count the caller's.
[[nodiscard]] monitors add_monitors(counter_registry& registry, const settings& wanted,
                                    const std::vector<watched_thread>& threads);
/// Each line as a warning; on stderr when the log has no sink for it, since somebody asked for what is missing.
void report(const std::vector<std::string>& missing);

}  // namespace plx::probe
