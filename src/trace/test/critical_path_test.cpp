#include "trace/critical_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

using testing::ElementsAre;

const path_kind& kind(const critical_path& c, std::string_view name) {
  const auto at = std::find_if(c.kinds.begin(), c.kinds.end(), [&](const auto& k) { return name_of(k.name) == name; });
  EXPECT_NE(at, c.kinds.end()) << name;
  return *at;
}

std::vector<double> half(std::string_view name) {
  std::vector<double> factors(register_name(name) + std::size_t{1}, 1.0);
  factors.back() = 0.5;
  return factors;
}

TEST(CriticalPath, AnEmptyGraphHasAnEmptyPath) {
  const trace_graph g(trace_data{});
  const critical_path c = find_critical_path(g);
  EXPECT_EQ(c.span, 0);
  EXPECT_EQ(c.parallelism(), 0);
  EXPECT_TRUE(c.path.empty());
  EXPECT_TRUE(predict_changes(replay_model(g, trace_data{}), g, {}, 0.5).empty());
}

/// a -> b, c -> d: the path through c is longer.
trace_builder diamond() {
  trace_builder b(2);
  b.task(0, 1, "cp a", 0, 10).task(0, 2, "cp b", 12, 20).ready(10).task(1, 3, "cp c", 15, 45).ready(10);
  b.task(0, 4, "cp d", 50, 55).ready(45);
  b.edge(1, 2, 10).edge(1, 3, 10).edge(2, join_bit | 1, 20).edge(3, join_bit | 1, 45).edge(join_bit | 1, 4, 45);
  return b;
}

TEST(CriticalPath, TakesTheLongerPathAndSeparatesDelays) {
  const trace_graph g(diamond().data);
  const critical_path c = find_critical_path(g);
  EXPECT_EQ(c.wall, 55);
  EXPECT_EQ(c.work, 53);
  EXPECT_EQ(c.span, 45);
  EXPECT_EQ(c.path_delay, 10);
  EXPECT_EQ(c.span + c.path_delay, c.wall) << "span and delays add up to the wall time";
  EXPECT_EQ(c.delay, 2 + 5 + 5);
  EXPECT_EQ(kind(c, "cp c").path, 30);
  EXPECT_EQ(kind(c, "cp c").path_delay, 5);
  EXPECT_EQ(kind(c, "cp b").path, 0);
  EXPECT_EQ(kind(c, "cp b").work, 8);
  EXPECT_THAT(c.path, ElementsAre(0, 2, 3));
  EXPECT_EQ(name_of(c.kinds[0].name), "cp c") << "largest share first";
}

TEST(CriticalPath, AParentCountsOnlyUntilItStartsTheChild) {
  trace_builder b(2);
  b.task(0, 1, "cp parent", 0, 100).task(1, 2, "cp child", 40, 120);
  b.edge(1, 2, 30);
  const critical_path c = find_critical_path(trace_graph(b.data));
  EXPECT_EQ(c.span, 30 + 80);
  EXPECT_EQ(kind(c, "cp parent").path, 30);
  EXPECT_EQ(kind(c, "cp parent").work, 100);
  EXPECT_EQ(c.path_delay, 10);
}

TEST(CriticalPath, SlicesOfATaskFollowEachOther) {
  trace_builder b(2);
  b.piece(0, 1, "cp waits", 0, 10, false).task(1, 2, "cp maker", 5, 50).piece(0, 1, "cp waits", 60, 65, true, true);
  b.edge(1, 2, 4).edge(2, 1, 50);
  const trace_graph g(b.data);
  const critical_path c = find_critical_path(g);
  EXPECT_EQ(c.span, 4 + 45 + 5);
  EXPECT_EQ(span_of(g, half("cp maker")), 4 + 22.5 + 5);
  EXPECT_EQ(span_of(g, half("cp waits")), 2 + 45 + 2.5);
}

/// A worker was preempted between two tasks: its next slice began, by its clock, before the task was suspended.
TEST(CriticalPath, OverlappingSlicesOfATaskCountOnce) {
  trace_builder b(2);
  b.piece(0, 1, "cut", 0, 100, false).piece(1, 1, "cut", 40, 150, true, true);
  const critical_path c = find_critical_path(trace_graph(b.data));
  EXPECT_EQ(c.span, 150);
  EXPECT_LE(c.span, c.wall);
}

TEST(CriticalPath, AnotherPathBecomesTheLongest) {
  const trace_graph g(diamond().data);
  EXPECT_EQ(span_of(g, half("cp c")), 30);
  EXPECT_EQ(span_of(g, half("cp b")), 45) << "it was not on the path";
  std::vector<double> tiny(register_name("cp c") + std::size_t{1}, 1.0);
  tiny.back() = 0.01;
  EXPECT_EQ(span_of(g, tiny), 10 + 8 + 5) << "now the path through b is longer";
}

/// Layers of tasks that depend on some tasks of the previous layer, executed by list scheduling on `workers`.
trace_data layered_run(double scale, unsigned workers, unsigned seed) {
  std::mt19937 random(seed);
  trace_builder b(workers);
  constexpr ticks start = 1000;
  std::vector<ticks> free(workers, start);
  std::vector<ticks> end;
  constexpr unsigned width = 7, layers = 30;
  for (unsigned i = 0; i < width * layers; ++i) {
    const bool slow = random() % 3 == 0;
    const ticks length = static_cast<ticks>(static_cast<double>(100 + 2 * (random() % 400)) * (slow ? scale : 1));
    ticks ready = start;
    std::vector<unsigned> from;
    for (unsigned k = 0; k < width && i >= width; ++k)
      if (random() % 3 == 0) from.push_back(i / width * width - width + k);
    for (const unsigned f : from) ready = std::max(ready, end[f]);
    const unsigned w = static_cast<unsigned>(std::min_element(free.begin(), free.end()) - free.begin());
    const ticks begin = std::max(ready, free[w]);
    free[w] = begin + length;
    end.push_back(free[w]);
    b.task(w, i + 1, slow ? "cp slow" : "cp quick", begin, free[w]).ready(ready);
    for (const unsigned f : from) b.edge(f + 1, i + 1, end[f]);
  }
  return b.data;
}

/// Compares the estimate with a run in which that task type actually takes half the time.
TEST(WhatIf, TheSpanEqualsThatOfARunWithHalvedDurations) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const trace_data run = layered_run(1, 3, seed);
    const trace_graph before(run), after(layered_run(0.5, 3, seed));
    const name_id slow = register_name("cp slow");
    const std::vector<what_if> answer = predict_changes(replay_model(before, run), before, std::span(&slow, 1), 0.5);
    ASSERT_EQ(answer.size(), 1u);
    EXPECT_DOUBLE_EQ(answer[0].span, find_critical_path(after).span);
    EXPECT_LT(answer[0].span, find_critical_path(before).span);
    const double really = static_cast<double>(after.wall()), was = static_cast<double>(before.wall());
    EXPECT_NEAR(answer[0].wall, really, 0.1 * was) << "an estimate, since the order of tasks differs";
  }
}

TEST(WhatIf, TheSpanIsALowerBoundOfAnySchedule) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const trace_data run = layered_run(1, 4, seed);
    const trace_graph g(run);
    const critical_path c = find_critical_path(g);
    for (unsigned workers = 1; workers < 6; ++workers) {
      const double time = replay_model(g, run).run({.workers = workers}).time;
      EXPECT_GE(time, c.span - 1e-6);
      EXPECT_GE(time, c.work / workers - 1e-6);
      EXPECT_LE(time, c.work / workers + c.span + 1e-6) << "Graham's bound";
    }
  }
}

}  // namespace
}  // namespace plx::probe
