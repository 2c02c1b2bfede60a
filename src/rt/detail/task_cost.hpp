// What a task costs besides its work.
//
// Thread safety: everything. Cost: about 3 ms the first time, in a runtime of its own with one worker.
// Example: diagnose_settings_test.cpp.
#pragma once

#include "probe/counter_registry.hpp"

namespace plx::detail {

/// Seconds to make, measure, run and end a named task that does nothing: the least of several turns, with nobody to
/// steal from. Must not be called by a task.
double task_cost_s();

/// /scheduler{locality#0/total}/task-cost, measured now if it was not yet.
[[nodiscard]] probe::registration add_task_cost_counter(probe::counter_registry& registry);

}  // namespace plx::detail
