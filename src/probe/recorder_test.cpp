#include "probe/recorder.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace plx::probe;

/// Task lengths in ticks with known mean 200 and standard deviation 100 (population: {100, 300} in equal parts).
TEST(Recorder, StatisticsOfKnownLengths) {
  recorder r(2);
  const name_id name = register_name("recorder_test/known");
  for (unsigned i = 0; i < 100; ++i)
    r.worker(i % 2).record({.name = name, .begin = 1000, .end = 1000u + (i % 4 < 2 ? 100u : 300u)});
  const auto tasks = r.tasks();
  ASSERT_EQ(tasks.size(), 1u);
  const task_statistics& t = tasks[0];
  const double tick = 1 / plx::ticks_per_second();
  EXPECT_EQ(t.name, "recorder_test/known");
  EXPECT_EQ(t.calls, 100u);
  EXPECT_EQ(t.slices, 100u);
  EXPECT_NEAR(t.total_s, 20000 * tick, 1e-12 * t.total_s);
  EXPECT_NEAR(t.mean_s, 200 * tick, 1e-12 * t.mean_s);
  EXPECT_NEAR(t.min_s, 100 * tick, 1e-12 * t.mean_s);
  EXPECT_NEAR(t.max_s, 300 * tick, 1e-12 * t.mean_s);
  EXPECT_NEAR(t.stddev_s, 100 * tick, 1e-9 * t.mean_s);
}

}  // namespace
