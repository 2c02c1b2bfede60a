#include "qmc/dca/dca_monitor.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "probe/counters/counter_registry.hpp"
#include "rt/runtime.hpp"

namespace plx::qmc {
namespace {

struct monitor_clock {
  static inline double now_s = 0;
  static double read() noexcept { return now_s; }
};

dca_iteration iteration(int temperature, int index, double t, double seconds) {
  dca_iteration i;
  i.temperature = temperature, i.iteration = index, i.t = t, i.seconds = seconds;
  return i;
}

TEST(DcaMonitor, MeansAndSharesAreOfTheIterationThatRuns) {
  dca_options o;
  o.temperatures = {1, 0.5, 0.25};
  dca_monitor m(o, monitor_clock::read);
  EXPECT_FALSE(m.now().has_value());
  auto& w = *m.walkers();
  w.proposed = 1000, w.accepted = 100, w.samples = 50, w.order = 500, w.sign = 50;  // of an iteration before
  m.began(iteration(0, 1, 1, 0), 8);
  w.expected = 80, w.measurements = 0;
  ASSERT_TRUE(m.now().has_value());
  EXPECT_FALSE(m.now()->left_s.has_value());
  w.proposed += 100, w.accepted += 40, w.samples += 20, w.order += 240, w.sign += 19, w.measurements = 20;
  const auto p = *m.now();
  EXPECT_DOUBLE_EQ(p.share, 0.25);
  EXPECT_DOUBLE_EQ(p.order, 12);
  EXPECT_DOUBLE_EQ(p.sign, 0.95);
  EXPECT_DOUBLE_EQ(p.acceptance, 0.4);
  EXPECT_EQ(p.iterations, 8);
  EXPECT_EQ(p.iteration, 1);
  m.iterated(iteration(0, 1, 1, 3));
  EXPECT_FALSE(m.now().has_value());
}

TEST(DcaMonitor, APauseForACheckpointDoesNotChangeTheProgress) {
  dca_options o;
  o.temperatures = {1};
  dca_monitor m(o, monitor_clock::read);
  auto& w = *m.walkers();
  m.began(iteration(0, 0, 1, 0), 8);
  w.expected = 100, w.measurements = 90, w.samples = 90;
  w.order = 900, w.sign = 90, w.proposed = 900, w.accepted = 300;
  m.began(iteration(0, 0, 1, 57), 8);
  monitor_clock::now_s += 3;
  auto p = *m.now();
  EXPECT_DOUBLE_EQ(p.share, 0.9);
  EXPECT_DOUBLE_EQ(p.order, 10);
  EXPECT_DOUBLE_EQ(p.sign, 1);
  EXPECT_DOUBLE_EQ(p.acceptance, 1.0 / 3);
  ASSERT_TRUE(p.left_s.has_value());
  EXPECT_DOUBLE_EQ(*p.left_s, 60 / 9.0);
  // The next iteration has none of these before its walkers begin.
  m.iterated(iteration(0, 0, 1, 66));
  m.began(iteration(0, 1, 1, 0), 8);
  p = *m.now();
  EXPECT_EQ(p.share, 0);
  EXPECT_EQ(p.order, 0);
  EXPECT_FALSE(p.left_s.has_value());
}

// A resumed process continues from states with measurements before it makes any.
TEST(DcaMonitor, AResumedIterationBeginsWithItsShare) {
  dca_options o;
  o.temperatures = {1};
  dca_monitor m(o, monitor_clock::read);
  m.began(iteration(0, 0, 1, 60), 1);
  m.walkers()->expected = 100, m.walkers()->measurements = 75;
  const auto p = *m.now();
  EXPECT_DOUBLE_EQ(p.share, 0.75);
  EXPECT_EQ(p.order, 0);
  ASSERT_TRUE(p.left_s.has_value());
  EXPECT_DOUBLE_EQ(*p.left_s, 20);
  EXPECT_DOUBLE_EQ(*p.run_left_s, 20);
}

TEST(DcaMonitor, FewerIterationsThanAreCompleteLeaveNoNegativeTime) {
  dca_options o;
  o.temperatures = {1};
  dca_monitor m(o, monitor_clock::read);
  m.began(iteration(0, 5, 1, 10), 3);
  m.walkers()->expected = 10, m.walkers()->measurements = 10;
  EXPECT_NEAR(*m.now()->run_left_s, 0, 1e-9);
}

// Only the root knows the state of the run.
TEST(DcaMonitor, OtherLocalitiesHaveTheCountersOfTheirWalkers) {
  dca_options o;
  o.temperatures = {1};
  runtime rt({.workers = 1, .bind = false});
  dca_monitor m(o, monitor_clock::read);
  m.add_counters(rt.counters(), false);
  m.walkers()->proposed = 200, m.walkers()->accepted = 50, m.walkers()->samples = 7;
  const auto find = [&](const std::string& name) { return rt.counters().find("/dca{locality#0/total}/" + name); };
  for (const char* name : {"progress", "iteration", "left", "density", "lambda-d"}) EXPECT_FALSE(find(name)) << name;
  ASSERT_TRUE(find("count/moves") && find("count/measurements") && find("acceptance"));
  EXPECT_EQ(find("count/moves")->value(), 200);
  EXPECT_EQ(find("count/measurements")->value(), 7);
  EXPECT_EQ(find("acceptance")->value(), 0.25);
}

// Iterations took 1 s at T = 1 and 4 s at T = 0.5: a power of -2, so 16 s at 0.25.
TEST(DcaMonitor, TheTimeThatRemainsGrowsWithTheTemperaturesThatAreLeft) {
  dca_options o;
  o.temperatures = {1, 0.5, 0.25};
  o.first_iterations = 1;
  o.iterations = 3;
  dca_monitor m(o, monitor_clock::read);
  m.iterated(iteration(0, 0, 1, 1));
  m.iterated(iteration(1, 0, 0.5, 4));
  m.began(iteration(1, 1, 0.5, 4), 3);
  m.walkers()->expected = 10, m.walkers()->measurements = 10, m.walkers()->samples = 10;
  const auto p = *m.now();
  EXPECT_NEAR(*p.left_s, 0, 1e-9);
  EXPECT_NEAR(*p.run_left_s, 4 + 3 * 16, 1e-9);
  // The same time at both: then at the third, too.
  dca_monitor same(o, monitor_clock::read);
  same.iterated(iteration(0, 0, 1, 4));
  same.iterated(iteration(1, 0, 0.5, 4));
  same.began(iteration(1, 2, 0.5, 2), 3);
  same.walkers()->expected = 10, same.walkers()->measurements = 5, same.walkers()->samples = 5;
  EXPECT_NEAR(*same.now()->left_s, 2, 1e-9);
  EXPECT_NEAR(*same.now()->run_left_s, 2 + 3 * 4, 1e-9);
}

// An extrapolation to colder temperatures needs two that are known.
TEST(DcaMonitor, TheTimeThatRemainsOfTheRunIsUnknownBeforeASecondTemperature) {
  dca_options o;
  o.temperatures = {1, 0.5, 0.25};
  o.first_iterations = 2;
  o.iterations = 3;
  dca_monitor m(o, monitor_clock::read);
  m.began(iteration(0, 0, 1, 3), 2);
  m.walkers()->expected = 10, m.walkers()->measurements = 5;
  EXPECT_NEAR(*m.now()->left_s, 3, 1e-9);
  EXPECT_FALSE(m.now()->run_left_s);
  m.iterated(iteration(0, 0, 1, 6));
  m.began(iteration(0, 1, 1, 3), 2);
  m.walkers()->measurements = 5;
  EXPECT_FALSE(m.now()->run_left_s);
  m.iterated(iteration(0, 1, 1, 6));
  m.began(iteration(1, 0, 0.5, 3), 3);  // a fifth of it took 3 s: 15 s
  m.walkers()->measurements = 2;
  ASSERT_TRUE(m.now()->run_left_s);
  EXPECT_NEAR(*m.now()->left_s, 12, 1e-9);
  EXPECT_NEAR(*m.now()->run_left_s, 12 + 2 * 15 + 3 * 15 * 2.5, 1e-9);  // 6, 15: a factor of 2.5 for half of T
  // A process that continues at the last temperature needs no other.
  dca_monitor last(o, monitor_clock::read);
  last.began(iteration(2, 1, 0.25, 4), 3);
  last.walkers()->expected = 10, last.walkers()->measurements = 5;
  ASSERT_TRUE(last.now()->run_left_s);
  EXPECT_NEAR(*last.now()->run_left_s, 4 + 8, 1e-9);
}

TEST(DcaMonitor, CountersOfARun) {
  struct watching : dca_observer {
    explicit watching(const dca_options& o) : monitor(o) {}
    void began(const dca_iteration& now, int iterations) override { monitor.began(now, iterations); }
    void iterated(const dca_iteration& now) override {
      monitor.iterated(now);
      last = now;
    }
    void cooled(const dca_temperature& t) override {
      monitor.cooled(t);
      lambda = t.d_wave ? t.d_wave->value : 0;
    }
    std::shared_ptr<monte_carlo_progress> progress() override { return monitor.walkers(); }
    dca_monitor monitor;
    dca_iteration last;
    double lambda = 0;
  };
  dca_options o;
  o.u = 4;
  o.temperatures = {1};
  o.first_iterations = 2;
  o.measurements = 160;
  o.walkers = 4;
  o.bins = 2;
  o.frequencies = 32;
  o.pair_frequencies = 2;
  o.warm_up = 200;
  runtime rt({.workers = 2, .bind = false});
  const auto value = [&](const std::string& name) {
    const auto counter = rt.counters().find("/dca{locality#0/total}/" + name);
    EXPECT_TRUE(counter) << name;
    return counter ? counter->value() : NAN;
  };
  watching w(o);
  w.monitor.add_counters(rt.counters(), true);
  EXPECT_TRUE(std::isnan(value("lambda-d")) && std::isnan(value("density")));
  ASSERT_TRUE(rt.run([&] { return run_dca(o, w); }));
  EXPECT_EQ(value("count/measurements"), 2 * 160);
  EXPECT_EQ(value("iteration"), 2);
  EXPECT_EQ(value("temperature"), 1);
  EXPECT_EQ(value("progress"), 1);
  EXPECT_EQ(value("lambda-d"), w.lambda);
  EXPECT_GT(w.lambda, 0);
  EXPECT_EQ(value("density"), w.last.density.value);
  EXPECT_EQ(value("self-energy-change"), w.last.change);
  EXPECT_NEAR(value("order"), w.last.order, 0.5);
  EXPECT_NEAR(value("sign"), 1, 0.01);
  // The warm-up is in one of them.
  EXPECT_NEAR(value("acceptance"), w.last.acceptance, 0.1);
  EXPECT_GT(w.last.acceptance, 0.2);
  EXPECT_LT(w.last.drift, 1e-8);
  EXPECT_GT(value("count/moves"), 320);
}

}  // namespace
}  // namespace plx::qmc
