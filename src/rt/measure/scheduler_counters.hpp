// What a task costs besides its work.
//
// Thread safety: everything. Cost: about 3 ms the first time, in a runtime of its own with one worker.
// Example: diagnose_settings_test.cpp.
#pragma once

#include <vector>

#include "probe/counters/counter_registry.hpp"

namespace plx::detail {

// The scheduler's own numbers as counters. docs/runtime.md has the table.

class scheduler;

/// /threads{locality#0/worker-thread#N}/count/..., the same for {locality#0/total}, and
/// /scheduler{locality#0/total}/... The scheduler must outlive the registrations.
[[nodiscard]] std::vector<probe::registration> add_scheduler_counters(probe::counter_registry& registry, scheduler& s);

/// Seconds to make, measure, run and end a named task that does nothing: the least of several turns, with nobody to
/// steal from. Must not be called by a task.
double task_cost_s();

/// /scheduler{locality#0/total}/task-cost, measured now if it was not yet.
[[nodiscard]] probe::registration add_task_cost_counter(probe::counter_registry& registry);

}  // namespace plx::detail
