#include "probe/standard_counters.hpp"

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

/// Two workers with known times: each counter against its formula in docs/probe.md.
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

}  // namespace
