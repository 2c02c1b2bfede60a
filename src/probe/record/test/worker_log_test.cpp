#include "probe/record/worker_log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "probe/record/trace_ring.hpp"

namespace {

using namespace plx::probe;

std::uint64_t calls_of(const worker_log& log, name_id id) {
  const detail::name_cell* c = log.name(id);
  return c == nullptr ? 0 : c->calls.load();
}

struct cost {
  plx::ticks time = 0;
  std::uint64_t calls = 0;
  bool operator==(const cost&) const = default;
};
std::map<std::uint64_t, cost> costs_of(const worker_log& log) {
  std::map<std::uint64_t, cost> all;
  log.for_each_key([&](std::uint64_t key, plx::ticks t, std::uint64_t n) {
    EXPECT_EQ(all.count(key), 0u) << "key " << key << " occurs twice";
    all[key] = {t, n};
  });
  return all;
}

TEST(WorkerLog, CountsPerName) {
  worker_log log;
  EXPECT_EQ(log.name(5), nullptr);
  log.record({.name = 5, .begin = 10, .end = 30});
  log.record({.name = 5, .begin = 30, .end = 70});
  const detail::name_cell& c = *log.name(5);
  EXPECT_EQ(c.calls, 2u);
  EXPECT_EQ(c.time, 60u);
  EXPECT_EQ(c.squares, 20.0 * 20 + 40 * 40);
  EXPECT_EQ(c.shortest, 20u);
  EXPECT_EQ(c.longest, 40u);
  EXPECT_EQ(calls_of(log, 6), 0u);
  EXPECT_EQ(log.pieces(), 2u);
}

TEST(WorkerLog, IdsOutOfRangeCountAsUnnamed) {
  worker_log log;
  log.record({.name = max_names + 7, .begin = 0, .end = 1});
  log.record({.name = max_names - 1, .begin = 0, .end = 1});
  EXPECT_EQ(calls_of(log, unnamed), 1u);
  EXPECT_EQ(calls_of(log, max_names - 1), 1u);
  EXPECT_EQ(log.name(max_names), nullptr);
}

TEST(WorkerLog, TimeNeverRunsBackwards) {
  worker_log log;
  log.record({.name = 1, .begin = 100, .end = 90});
  log.idle(100, 90);
  EXPECT_EQ(log.name(1)->time, 0u);
  EXPECT_EQ(log.idle_time(), 0u);
}

TEST(WorkerLog, ASliceOfASuspendedTaskIsNotACall) {
  worker_log log;
  log.record({.name = 1, .begin = 0, .end = 10, .finished = false});
  const detail::name_cell& c = *log.name(1);
  EXPECT_EQ(c.calls, 0u);
  EXPECT_EQ(c.open_time, 10u);
  // If the caller keeps the earlier time, the duration of the call is that of the whole task.
  log.record({.name = 1, .begin = 50, .end = 80, .finished = true, .earlier = 10});
  EXPECT_EQ(c.calls, 1u);
  EXPECT_EQ(c.time, 40u);
  EXPECT_EQ(c.open_time, 0u);
  EXPECT_EQ(c.shortest, 40u);
  EXPECT_EQ(c.open_pieces, 1u);
}

TEST(WorkerLog, CostPerKeySmallAndLarge) {
  worker_log log;
  const std::uint64_t large = 1ull << 60;
  log.record({.name = 1, .key = 3, .begin = 0, .end = 10});
  log.record({.name = 2, .key = 3, .begin = 0, .end = 5, .finished = false});
  log.record({.name = 1, .key = large, .begin = 0, .end = 7});
  log.record({.name = 1, .key = no_key, .begin = 0, .end = 100});
  log.record({.name = 1, .key = detail::dense_keys - 1, .begin = 0, .end = 1});
  log.record({.name = 1, .key = detail::dense_keys, .begin = 0, .end = 2});
  const std::map<std::uint64_t, cost> expected{
      {3, {15, 1}}, {large, {7, 1}}, {detail::dense_keys - 1, {1, 1}}, {detail::dense_keys, {2, 1}}};
  EXPECT_EQ(costs_of(log), expected);
}

TEST(WorkerLog, LargeKeysSurviveGrowth) {
  worker_log log;
  const std::uint64_t n = 5000;  // the first table holds 512
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t i = 0; i < n; ++i) log.record({.name = 1, .key = (i + 1) << 40, .begin = 0, .end = i + 1});
  const auto costs = costs_of(log);
  ASSERT_EQ(costs.size(), n);
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(costs.at((i + 1) << 40), (cost{2 * (i + 1), 2}));
  EXPECT_EQ(log.lost_costs(), 0u);
}

TEST(WorkerLog, ModesDisableParts) {
  worker_log log;
  log.set_mode(worker_log::costs);
  log.record({.name = 1, .key = 1, .begin = 0, .end = 10});
  EXPECT_EQ(log.name(1), nullptr);
  EXPECT_EQ(costs_of(log).size(), 1u);
  log.set_mode(worker_log::statistics);
  log.record({.name = 1, .key = 2, .begin = 0, .end = 10});
  EXPECT_EQ(calls_of(log, 1), 1u);
  EXPECT_EQ(costs_of(log).size(), 1u);
}

/// Numbers read while the worker writes never decrease, the final ones are exact, and the sanitizers report nothing.
TEST(WorkerLog, ReadersAtAnyTime) {
  worker_log log;
  constexpr std::uint64_t n = 20'000;
  std::atomic<bool> done{false};
  std::thread reader([&] {
    std::uint64_t last_calls = 0, last_keys = 0;
    while (!done) {
      const std::uint64_t calls = calls_of(log, 300);
      std::uint64_t keys = 0;
      log.for_each_key([&](std::uint64_t, plx::ticks, std::uint64_t) { ++keys; });
      ASSERT_GE(calls, last_calls);
      ASSERT_GE(keys, last_keys);
      ASSERT_LE(log.pieces(), 2 * n);
      last_calls = calls;
      last_keys = keys;
    }
  });
  for (std::uint64_t i = 0; i < n; ++i) {
    log.record({.name = 300, .key = i % 3000, .begin = 0, .end = 2});
    log.record({.name = static_cast<name_id>(i % 1000), .key = (i % 3000 + 1) << 32, .begin = 0, .end = 3});
    log.overhead(1);
    log.background(2);
    log.idle(5, 8);
  }
  done = true;
  reader.join();
  EXPECT_EQ(calls_of(log, 300), n + n / 1000);
  EXPECT_EQ(log.overhead_time(), n);
  EXPECT_EQ(log.background_time(), 2 * n);
  EXPECT_EQ(log.idle_time(), 3 * n);
  EXPECT_EQ(costs_of(log).size(), 6000u);
}

/// Edges of one moment count as one; a slice counts if it has the cause of its task, whether packed or not, lost or
/// not.
TEST(WorkerLog, CountsEdges) {
  worker_log log(2, 1);
  trace_ring ring(8);
  EXPECT_EQ(log.edges(), 0u);
  log.set_ring(&ring);
  log.set_mode(worker_log::tracing);
  const task_id a = log.next_id(), b = log.next_id();
  log.record({.name = 1, .begin = 10, .end = 20, .id = a});
  EXPECT_EQ(log.edges(), 1u);
  log.record({.name = 1, .begin = 20, .end = 30});  // of no task
  EXPECT_EQ(log.edges(), 1u);
  for (int i = 0; i < 3; ++i) log.edge(a, log.next_id(), 30);
  EXPECT_EQ(log.edges(), 2u);
  log.edge(a, b, 31);  // writes the pending edges of the moment before
  EXPECT_EQ(log.edges(), 3u);
  log.record({.name = 1, .key = std::uint64_t{1} << 40, .begin = 31, .end = 32, .id = b, .cause = a, .ready = 31});
  EXPECT_EQ(log.edges(), 4u);
  EXPECT_EQ(ring.pushed(), 7u);
  for (int i = 0; i < 2; ++i) log.edge(b, a, 40 + static_cast<plx::ticks>(i));
  EXPECT_EQ(ring.lost(), 1u);
  EXPECT_EQ(log.edges(), 6u);
}

}  // namespace
