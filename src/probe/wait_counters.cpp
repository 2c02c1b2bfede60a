// Counters of waiting: for each worker and for all, and for all by kind.
#include <fmt/format.h>

#include <algorithm>

#include "probe/standard_counters.hpp"

namespace plx::probe {
namespace {

struct wait_sum {
  std::uint64_t waits = 0;
  ticks total = 0;
};

/// Of the kind, or of all for "".
wait_sum sum_of(const wait_log& log, std::string_view kind) {
  wait_sum sum;
  log.for_each([&](const wait_kind& what, std::uint64_t waits, ticks total, ticks) {
    const std::string_view text = what.kind;
    if (!kind.empty() && text.substr(0, text.find(',')) != kind) return;
    sum.waits += waits;
    sum.total += total;
  });
  return sum;
}

wait_sum sum_of(const recorder& r, unsigned first, unsigned end, std::string_view kind) {
  wait_sum sum;
  for (unsigned i = first; i < std::min(end, r.worker_count()); ++i) {
    const wait_sum one = sum_of(r.waits_of(i), kind);
    sum.waits += one.waits;
    sum.total += one.total;
  }
  return sum;
}

constexpr std::string_view kinds[] = {
    "future",  "task_group", "mutex", "shared_mutex", "condition_variable", "latch", "barrier", "semaphore",
    "channel", "sleep",      "event", "call_once",    "sliding_semaphore"};

}  // namespace

std::vector<registration> add_wait_counters(counter_registry& registry, const recorder& r) {
  std::vector<registration> all;
  const auto add = [&](const std::string& instance, unsigned first, unsigned end, std::string_view kind) {
    const std::string tail = kind.empty() ? std::string() : fmt::format("/{}", kind);
    const std::string on = kind.empty() ? std::string() : fmt::format(" on a {}", kind);
    all.push_back(registry.add({fmt::format("/threads{{{}}}/wait/count{}", instance, tail), "1",
                                fmt::format("Times a task was suspended{}", on.empty() ? " to wait" : on), true},
                               [&r, first, end, kind] { return sum_of(r, first, end, kind).waits; }));
    all.push_back(registry.add({fmt::format("/threads{{{}}}/wait/time{}", instance, tail), "s",
                                fmt::format("Time for which tasks were suspended{}, summed over tasks", on), true},
                               [&r, first, end, kind] { return seconds(sum_of(r, first, end, kind).total); }));
  };
  add("locality#0/total", 0, ~0u, "");  // also the workers that are added later
  for (unsigned i = 0; i < r.worker_count(); ++i) add(fmt::format("locality#0/worker-thread#{}", i), i, i + 1, "");
  for (const std::string_view kind : kinds) add("locality#0/total", 0, ~0u, kind);
  return all;
}

}  // namespace plx::probe
