// The counters of the scheduler, and the cost of a task besides its work.
//
// Thread safety: everything. Cost: task_cost_s() takes about 3 ms, in a runtime of its own with one worker.
// Example: diagnose_settings_test.cpp.
#pragma once

#include <vector>

#include "probe/counters/counter_registry.hpp"

namespace plx::detail {

// The scheduler's own counters. docs/runtime.md has the table.

class scheduler;

/// /threads{locality#0/worker-thread#N}/count/..., the same for {locality#0/total}, and
/// /scheduler{locality#0/total}/... The scheduler must outlive the registrations.
[[nodiscard]] std::vector<probe::registration> add_scheduler_counters(probe::counter_registry& registry, scheduler& s);

/// Seconds to create, measure, run and end a named empty task: the minimum of several rounds, on a single worker. Must
/// not be called by a task.
double task_cost_s();

/// /scheduler{locality#0/total}/task-cost, measured on first use.
[[nodiscard]] probe::registration add_task_cost_counter(probe::counter_registry& registry);

}  // namespace plx::detail
