// Events of one thread that the kernel counts and reads together (PERF_FORMAT_GROUP), for counts by task type.
//
// On x86-64 a thread reads its own events without a system call if all of them are counted by the processor at that
// moment and the kernel permits it (perf_page.hpp); otherwise, and always for events of the kernel such as page faults,
// one read() returns all. Events are counted all at once or not at all: where others use the processor's counters, for
// a part of the time. Counts are not scaled up then; read_from_outside() gives the share of the time. Example:
// probe/monitor/test/perf_group_test.cpp
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probe/monitor/task_counts.hpp"

namespace plx::probe {

struct watched_thread;  // monitors.hpp

/// Groups of equal events, one per thread.
struct perf_groups {
  std::vector<counted_event> events;
  std::vector<std::shared_ptr<count_source>> threads;

  /// The index of an event, or -1.
  [[nodiscard]] int index_of(const std::string& event) const noexcept;
};

/// `events`: as for add_perf_counters(), which also reports unknown events and those that the machine does not have. A
/// line in `notes` says which are omitted because they cannot be counted together with those before; "all" adds none.
/// Without any event the result has no threads.
[[nodiscard]] perf_groups open_perf_groups(const std::string& events, const std::vector<watched_thread>& threads,
                                           std::vector<std::string>& notes);

}  // namespace plx::probe
