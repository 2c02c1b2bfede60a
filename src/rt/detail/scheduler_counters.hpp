// The scheduler's own numbers as counters. docs/runtime.md has the table.
#pragma once

#include <vector>

#include "probe/counter_registry.hpp"

namespace plx::detail {

class scheduler;

/// /threads{locality#0/worker-thread#N}/count/..., the same for {locality#0/total}, and
/// /scheduler{locality#0/total}/... The scheduler must outlive the registrations.
[[nodiscard]] std::vector<probe::registration> add_scheduler_counters(probe::counter_registry& registry, scheduler& s);

}  // namespace plx::detail
