#include "probe/monitor/task_energy.hpp"

#include <gtest/gtest.h>

namespace {

using namespace plx::probe;
using plx::ticks;

constexpr ticks step = 1'000'000;

struct TaskEnergy : testing::Test {
  recorder r{2};
  name_id fast = register_name("energy fast"), slow = register_name("energy slow");
  ticks now = 1'000 * step;
  task_energy e{r, 100, now};
  double joules = 100;

  void slice(unsigned worker, name_id name, ticks begin, ticks end, bool finished = true) {
    r.worker(worker).record({.name = name, .begin = begin, .end = end, .finished = finished});
  }
  /// An interval in which the machine used `more` J.
  void interval(double more) { e.sample(joules += more, now += step); }
  void expect(double of_fast, double of_slow, double no_task) const {
    const energy_of_tasks s = e.sums();
    EXPECT_NEAR(s.of(fast), of_fast, 1e-9);
    EXPECT_NEAR(s.of(slow), of_slow, 1e-9);
    EXPECT_NEAR(s.no_task, no_task, 1e-9);
    double sum = s.no_task;
    for (const double j : s.by_name) sum += j;
    EXPECT_NEAR(sum, joules - 100, 1e-9);
    EXPECT_DOUBLE_EQ(s.total, joules - 100);
  }
};

/// The same program, divided by hand: each interval's energy in two, one part for each worker.
TEST_F(TaskEnergy, EachIntervalIsDividedByTime) {
  slice(0, fast, now, now + step / 4);
  slice(0, slow, now + step / 4, now + step);
  r.worker(1).idle(now, now + step);
  interval(8);
  expect(1, 3, 4);
  slice(0, fast, now, now + step);
  slice(1, fast, now, now + step);
  interval(40);  // more power in this interval
  expect(41, 3, 4);
}

TEST_F(TaskEnergy, ALongSliceGetsItsPartOfEachInterval) {
  const ticks begin = now;
  for (const double power : {2, 6, 10}) {
    r.worker(1).idle(now, now + step);
    interval(power);
  }
  expect(0, 0, 18);
  slice(0, slow, begin, begin + 2 * step + step / 2);  // known now
  slice(0, fast, begin + 2 * step + step / 2, now);
  r.worker(1).idle(now, now + step);
  r.worker(0).idle(now, now + step);
  interval(4);
  expect(0.5 / 4 * 11, 2.5 / 4 * 11, 22 - 3.0 / 4 * 11);  // its mean over the time of both
}

TEST_F(TaskEnergy, ATaskThatMovesCountsOnBothWorkers) {
  slice(0, slow, now, now + step, false);
  interval(8);
  expect(0, 4, 4);
  r.worker(1).record({.name = slow, .begin = now, .end = now + step, .finished = true, .earlier = step});
  interval(8);
  expect(0, 8, 8);
}

TEST_F(TaskEnergy, TimeThatNoClockCountsIsNoTasks) {
  for (int i = 0; i < 10; ++i) interval(2);  // the workers have not begun
  slice(0, fast, now + step / 2, now + step);
  interval(20);
  expect(5, 0, 35);
  for (ticks i = 0; i < 10; ++i) slice(0, fast, now + i * step / 10, now + (i + 1) * step / 10);
  interval(2);
  expect(6, 0, 36);
}

TEST_F(TaskEnergy, ACounterMayBeReset) {
  slice(0, fast, now, now + step);
  slice(1, fast, now, now + step);
  e.sample(3, now += step);  // reset, then 3 J
  EXPECT_NEAR(e.sums().of(fast), 3, 1e-9);
  EXPECT_DOUBLE_EQ(e.sums().total, 3);
}

TEST(EnergyCurve, IsLinearBetweenSamplesAndStaysSmall) {
  energy_curve c;
  EXPECT_EQ(c.at(5), 0);
  for (ticks t = 0; t <= 300'000; ++t) c.add(100 * t, static_cast<double>(t));
  EXPECT_LE(c.size(), energy_curve::most_points);
  for (const ticks t : {0u, 7u, 150u, 12'345u, 299'999u}) EXPECT_NEAR(c.at(100 * t), static_cast<double>(t), 1e-9);
  EXPECT_EQ(c.at(1'000'000'000), 300'000);
  const std::size_t kept = c.size();
  c.forget_before(20'000'000);
  EXPECT_NEAR(c.at(20'000'000), 200'000, 1e-9);
  EXPECT_LT(c.size(), kept);
}

}  // namespace
