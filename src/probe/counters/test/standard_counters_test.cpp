#include "probe/counters/standard_counters.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>

namespace {

using namespace plx::probe;

double value(const counter_registry& r, std::string_view name) { return r.query(name).value().at(0).value; }

TEST(StandardCounters, MachineCountersFollowTheProcess) {
  counter_registry r;
  const auto keep = add_machine_counters(r);
  const double before = value(r, "/machine/memory/resident");
  EXPECT_GT(before, 1e5);
  constexpr std::size_t size = 64u << 20;
  auto memory = std::make_unique<char[]>(size);
  std::memset(memory.get(), 1, size);
  asm volatile("" : : "r"(memory.get()) : "memory");
  EXPECT_GE(value(r, "/machine/memory/resident"), before + 0.9 * size);
  EXPECT_GE(value(r, "/machine/memory/peak-resident"), before + 0.9 * size);
  EXPECT_GT(value(r, "/machine/page-faults/minor"), 0.0);
  EXPECT_EQ(r.query("/machine/*").value().size(), 8u);
}

/// Two workers with known times: compares each counter with its formula in docs/probe.md.
TEST(StandardCounters, RecorderCountersHaveKnownAnswers) {
  recorder rec(2);
  counter_registry r;
  const auto keep = add_recorder_counters(r, rec);
  const double tick = 1 / plx::ticks_per_second();
  for (int i = 0; i < 10; ++i) rec.worker(0).record({.begin = 0, .end = 60});
  rec.worker(0).overhead(100);
  rec.worker(0).idle(0, 200);
  rec.worker(0).background(100);
  rec.worker(1).idle(0, 1000);
  const std::map<std::string, double> expected{
      {"/threads{locality#0/worker-thread#0}/time/exec", 600 * tick},
      {"/threads{locality#0/worker-thread#0}/time/idle", 200 * tick},
      {"/threads{locality#0/worker-thread#0}/time/overhead", 100 * tick},
      {"/threads{locality#0/worker-thread#0}/time/background", 100 * tick},
      {"/threads{locality#0/worker-thread#0}/count/tasks", 10},
      {"/threads{locality#0/worker-thread#0}/time/average", 60 * tick},
      {"/threads{locality#0/worker-thread#0}/time/average-overhead", 10 * tick},
      {"/threads{locality#0/worker-thread#0}/time/func", 700 * tick},
      {"/threads{locality#0/worker-thread#0}/background-work", 100 * tick},
      {"/threads{locality#0/worker-thread#0}/background-overhead", 1.0 / 7},
      {"/threads/background-overhead", 1.0 / 7},
      {"/threads{locality#0/worker-thread#0}/idle-rate", 0.2},
      {"/threads{locality#0/worker-thread#1}/idle-rate", 1.0},
      {"/threads{locality#0/worker-thread#1}/time/average", 0.0},
      {"/threads/idle-rate", 0.6},
      {"/threads/count/tasks", 10},
      {"/probe/trace/lost", 0},
  };
  for (const auto& [name, v] : expected) EXPECT_NEAR(value(r, name), v, 1e-12 * v) << name;
  EXPECT_GT(value(r, "/probe/measurement-cost"), 0.0);
  for (const counter_info& c : r.list()) {
    EXPECT_FALSE(c.help.empty()) << c.name;
    EXPECT_FALSE(c.unit.empty()) << c.name;
  }
}

TEST(StandardCounters, WaitsFromReadyToStartAndCostsAreReadByName) {
  recorder rec(2);
  counter_registry r;
  const auto keep = add_recorder_counters(r, rec);
  for (const plx::ticks wait : {1000, 1000, 1000, 1000, 500000}) rec.worker(1).ready_wait(wait);
  const double tick = 1 / plx::ticks_per_second();
  const auto of = [&](const std::string& name) { return value(r, "/threads{locality#0/total}/ready-wait/" + name); };
  EXPECT_NEAR(of("mean"), 504000.0 / 5 * tick, 1e-6 * tick);
  EXPECT_NEAR(of("max"), 500000 * tick, 1e-6 * tick);
  EXPECT_NEAR(of("median"), 1500 * tick, 501 * tick);  // upper bounds, exact to a factor of 2
  EXPECT_NEAR(of("p99"), 750000 * tick, 250001 * tick);
  EXPECT_EQ(value(r, "/probe/costs/lost"), 0);
  const std::uint64_t held = std::uint64_t{1} << 20;  // large keys of a worker, by docs/probe.md
  for (std::uint64_t i = 0; i < held + 100; ++i)
    rec.worker(0).record({.name = 1, .key = (i + 1) << 40, .begin = 0, .end = 1});
  EXPECT_EQ(value(r, "/probe/costs/lost"), static_cast<double>(rec.costs_lost()));
  EXPECT_GE(value(r, "/probe/costs/lost"), 100);
}

/// After a reset, a quotient covers only the time since then; it is not a difference of quotients.
TEST(StandardCounters, QuotientsAreResetInBothParts) {
  recorder rec(1);
  counter_registry r;
  const auto keep = add_recorder_counters(r, rec);
  rec.worker(0).record({.begin = 0, .end = 900});
  rec.worker(0).idle(0, 100);
  EXPECT_NEAR(value(r, "/threads/idle-rate"), 0.1, 1e-12);
  ASSERT_TRUE(r.reset("/threads/*"));
  rec.worker(0).record({.begin = 0, .end = 100});
  rec.worker(0).idle(0, 300);
  EXPECT_NEAR(value(r, "/threads/idle-rate"), 0.75, 1e-12);
  EXPECT_NEAR(value(r, "/threads/time/average"), 100 / plx::ticks_per_second(), 1e-15);
  EXPECT_EQ(value(r, "/threads/count/tasks"), 1);
}

/// Idle time grows while a worker sleeps, not only when it wakes.
TEST(StandardCounters, IdleTimeGrowsWhileItLasts) {
  worker_log log;
  log.idle(0, 1000);
  const auto an_hour = static_cast<plx::ticks>(3600 * plx::ticks_per_second());  // longer than this test takes
  const plx::ticks begin = plx::now_ticks();
  log.idle_begins(begin);
  log.idle_begins(begin + 5);  // no effect: the span is already open
  EXPECT_TRUE(log.idles());
  const plx::ticks first = log.idle_time();
  EXPECT_GE(first, 1000u);
  EXPECT_LE(first, 1000 + plx::now_ticks() - begin);
  while (plx::now_ticks() < begin + 100000) {
  }
  EXPECT_GE(log.idle_time(), 101000u);
  log.idle(begin, begin + an_hour, 50000);
  EXPECT_FALSE(log.idles());
  EXPECT_EQ(log.idle_time(), 1000u + an_hour - 50000u);
  log.idle(10, 20, 4);
  EXPECT_EQ(log.idle_time(), 1000u + an_hour - 50000u + 6u);
}

/// Later readings are never smaller than earlier ones, even if the clocks of two cores differ; and time of pollers is
/// never counted as idle.
TEST(StandardCounters, IdleTimeNeverGoesBack) {
  worker_log log;
  const auto second = static_cast<plx::ticks>(plx::ticks_per_second());
  const plx::ticks now = plx::now_ticks();
  log.idle_begins(now + 3600 * second);  // by a clock that is ahead
  EXPECT_EQ(log.idle_time(), 0u);
  log.idle(now, now + 3600 * second);  // ends the open span at the same moment
  const plx::ticks at = plx::now_ticks();
  log.background(5 * second);
  log.idle_begins(at - 3000 * second, log.background_time());
  log.background(1000 * second);
  const plx::ticks open = log.idle_time();
  EXPECT_GE(open, 2000 * second);
  EXPECT_LT(open, 3000 * second);
  log.idle(at - 3000 * second, at, 1000 * second);  // slightly earlier than the reader's clock
  EXPECT_GE(log.idle_time(), open);
}

}  // namespace
