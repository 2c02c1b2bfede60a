// Counters of every program: of the machine, and of a recorder's workers. docs/probe.md has the table.
//
// Thread safety: as counter_registry; the recorder must outlive the registrations. Cost: none until a counter is read,
// then a system call or a sum over names.
// Example: probe/counters/test/standard_counters_test.cpp
#pragma once

#include <vector>

#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {

/// The times of the workers [first, end), summed.
worker_times times_of(const recorder& r, unsigned first = 0, unsigned end = ~0u);

/// /machine/memory/resident, /machine/context-switches/voluntary, ...: values of this process from the operating
/// system.
[[nodiscard]] std::vector<registration> add_machine_counters(counter_registry& registry);

/// /threads{locality#0/worker-thread#N}/time/exec, .../idle-rate, ..., the same for {locality#0/total}, and /probe/...
[[nodiscard]] std::vector<registration> add_recorder_counters(counter_registry& registry, const recorder& r);
/// The counters of one worker that was added later (recorder::add_worker).
[[nodiscard]] std::vector<registration> add_worker_counters(counter_registry& registry, const recorder& r, unsigned i);
/// Number and duration of task suspensions, per worker and by kind. Requires: the recorder outlives them.
std::vector<registration> add_wait_counters(counter_registry& registry, const recorder& r);

}  // namespace plx::probe
