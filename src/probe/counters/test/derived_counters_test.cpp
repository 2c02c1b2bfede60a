#include "probe/counters/counter_registry_detail.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "probe/counters/periodic_thread.hpp"

namespace {

using namespace plx::probe;
using detail::sample_series;

double value(const counter_registry& r, std::string_view name) {
  const auto v = r.query(name);
  EXPECT_TRUE(v) << name << ": " << (v ? "" : v.error().message);
  return v ? v->at(0).value : std::nan("");
}

std::string problem(const counter_registry& r, std::string_view name) {
  const auto v = r.query(name);
  return v ? "" : v.error().message;
}

/// Statistics of 1 4 2 8 5, computed by hand.
TEST(SampleSeries, StatisticsOfKnownSamples) {
  sample_series s{counter_handle()};
  s.keep_last(3);
  double time = 0;
  for (const double v : {1.0, 4.0, 2.0, 8.0, 5.0}) s.add(v, time += 0.5);
  EXPECT_DOUBLE_EQ(s.value("average", 0), 4);
  EXPECT_DOUBLE_EQ(s.value("stddev", 0), std::sqrt(6.0));
  EXPECT_DOUBLE_EQ(s.value("median", 0), 4);
  EXPECT_DOUBLE_EQ(s.value("min", 0), 1);
  EXPECT_DOUBLE_EQ(s.value("max", 0), 8);
  EXPECT_DOUBLE_EQ(s.value("count", 0), 5);
  EXPECT_DOUBLE_EQ(s.value("rate", 0), -6);
  EXPECT_DOUBLE_EQ(s.value("rolling_average", 3), 5);
  EXPECT_DOUBLE_EQ(s.value("rolling_stddev", 3), std::sqrt(6.0));
  EXPECT_DOUBLE_EQ(s.value("rolling_median", 2), 6.5);
  EXPECT_DOUBLE_EQ(s.value("rolling_min", 3), 2);
  EXPECT_DOUBLE_EQ(s.value("rolling_max", 2), 8);
  s.reset();
  EXPECT_EQ(s.value("count", 0), 0);
  EXPECT_THROW((void)s.value("average", 0), std::runtime_error);
  s.add(7, 10);
  EXPECT_DOUBLE_EQ(s.value("rolling_average", 3), 7);
  EXPECT_DOUBLE_EQ(s.value("stddev", 0), 0);
}

TEST(SampleSeries, AGrowingRingKeepsItsSamples) {
  sample_series s{counter_handle()};
  for (int i = 0; i < 10; ++i) s.add(i, i);
  s.keep_last(2);  // holds the newest sample only
  EXPECT_DOUBLE_EQ(s.value("rolling_average", 2), 9);
  s.add(11, 11);
  EXPECT_DOUBLE_EQ(s.value("rolling_average", 2), 10);
  s.keep_last(4);
  EXPECT_DOUBLE_EQ(s.value("rolling_min", 4), 9);
  for (const double v : {12.0, 13.0, 14.0}) s.add(v, v);
  EXPECT_DOUBLE_EQ(s.value("rolling_average", 4), 12.5);
  EXPECT_DOUBLE_EQ(s.value("rolling_average", 2), 13.5);
}

/// Beyond 4096 samples the median is that of a random selection: for 0..39999 in order it must still be near the
/// middle.
TEST(SampleSeries, TheMedianOfManySamplesIsThatOfARandomSelection) {
  sample_series s{counter_handle()};
  for (int i = 0; i < 40000; ++i) s.add(i, i);
  EXPECT_NEAR(s.value("median", 0), 20000, 2000);  // standard deviation of such a median: 40000 / (2 sqrt(4096)) = 312
  EXPECT_DOUBLE_EQ(s.value("average", 0), 19999.5);
}

struct two {
  counter_registry r;
  double x = 6, y = 3;
  registration a = r.add({"/a/x", "bytes"}, [this] { return x; });
  registration b = r.add({"/a/y", "s"}, [this] { return y; });
  registration c = r.add({"/c/z", "s"}, [] { return 2; });
};

TEST(DerivedCounters, StatisticsAreCreatedOnRequestAndSampledByThePeriodicThread) {
  counter_registry r;
  periodic_thread b;
  r.sample_with(&b);
  std::atomic<int> reads{0};
  const registration a = r.add({"/a{locality#0/total}/x", "s"}, [&reads] { return ++reads; });
  EXPECT_GE(value(r, "/statistics{/a/x}/max@1"), 1);  // the first sample is taken immediately
  EXPECT_EQ(value(r, "/statistics{/a/x}/min@1"), 1);
  while (reads < 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(value(r, "/statistics{/a/x}/max@1"), 3);
  EXPECT_EQ(value(r, "/statistics{/a/x}/min@1"), 1);  // from the same samples
  const auto info = r.list("/statistics{*}/max@*");
  ASSERT_EQ(info.size(), 1u);
  EXPECT_EQ(info[0].name, "/statistics{/a{locality#0/total}/x}/max@1");
  EXPECT_EQ(info[0].unit, "s");
  r.sample_with(nullptr);  // the registry's own thread samples from here on
  const int before = reads;
  while (reads < before + 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(DerivedCounters, ResetRestartsTheStatistics) {
  counter_registry r;
  double x = 1;
  const registration a = r.add({"/a/x"}, [&x] { return x; });
  EXPECT_EQ(value(r, "/statistics{/a/x}/max@100000"), 1);
  x = 5;
  ASSERT_TRUE(r.reset("/statistics{/a/x}/max@100000"));
  EXPECT_EQ(value(r, "/statistics{/a/x}/count@100000"), 0);
  EXPECT_NE(problem(r, "/statistics{/a/x}/max@100000").find("no sample has been taken yet"), std::string::npos);
}

TEST(DerivedCounters, AQueryThatResetsReadsAllOfThemFirst) {
  counter_registry r;
  const registration a = r.add({"/a/x"}, [] { return 7; });
  const auto all = r.query("/statistics{/a/x}/m*@100000", after_reading::reset).value();
  ASSERT_EQ(all.size(), 3u);
  for (const counter_value& v : all) EXPECT_EQ(v.value, 7) << v.name << ' ' << v.problem;
  EXPECT_EQ(value(r, "/statistics{/a/x}/count@100000"), 0);
}

TEST(DerivedCounters, AReadOnlyQueryCreatesNone) {
  two t;
  const std::size_t before = t.r.list().size();
  for (const char* name : {"/statistics{/a/x}/max@10", "/arithmetics/add@/a/x,/a/y"}) {
    const auto v = t.r.query(name, after_reading::keep, making::never);
    ASSERT_FALSE(v);
    EXPECT_NE(v.error().message.find("does not exist"), std::string::npos);
  }
  EXPECT_EQ(t.r.list().size(), before);
  EXPECT_EQ(t.r.query("/a/*", after_reading::keep, making::never).value().size(), 2u);
}

TEST(DerivedCounters, APatternMeansOneStatisticPerCounter) {
  counter_registry r;
  const registration a = r.add({"/a{worker-thread#0}/x"}, [] { return 1; });
  const registration b = r.add({"/a{worker-thread#1}/x"}, [] { return 2; });
  const auto all = r.query("/statistics{/a{worker-thread#*}/x}/average@100000").value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].name, "/statistics{/a{worker-thread#1}/x}/average@100000");
  EXPECT_EQ(all[1].value, 2);
  EXPECT_EQ(r.query("/statistics{/a{worker-thread#1}/x}/rolling_*@100000,7").value().size(), 5u);
}

TEST(DerivedCounters, ArithmeticOfKnownValues) {
  two t;
  EXPECT_EQ(value(t.r, "/arithmetics/add@/a/x,/a/y,/c/z"), 11);
  EXPECT_EQ(value(t.r, "/arithmetics/subtract@/a/x,/a/y,/c/z"), 1);
  EXPECT_EQ(value(t.r, "/arithmetics/multiply@/a/x,/a/y,/c/z"), 36);
  EXPECT_EQ(value(t.r, "/arithmetics/divide@/a/x,/a/y,/c/z"), 1);
  EXPECT_NEAR(value(t.r, "/arithmetics/mean@/a/x,/a/y,/c/z"), 11.0 / 3, 1e-12);
  EXPECT_NEAR(value(t.r, "/arithmetics/variance@/a/x,/a/y,/c/z"), 26.0 / 9, 1e-12);
  EXPECT_EQ(value(t.r, "/arithmetics/median@/a/x,/a/y,/c/z"), 3);
  EXPECT_EQ(value(t.r, "/arithmetics/min@/a/x,/a/y,/c/z"), 2);
  EXPECT_EQ(value(t.r, "/arithmetics/max@/a/*,/c/z"), 6);
  EXPECT_EQ(value(t.r, "/arithmetics/count@/a/*"), 2);
  t.x = 12;
  EXPECT_EQ(value(t.r, "/arithmetics/divide@/a/x,/a/y"), 4);
  t.y = 0;
  EXPECT_EQ(problem(t.r, "/arithmetics/divide@/a/x,/a/y"),
            "cannot read '/arithmetics/divide@/a/x,/a/y': division by 0");
}

TEST(DerivedCounters, UnitsFollowTheOperation) {
  two t;
  const auto unit = [&t](std::string_view name) { return t.r.query(name).value().at(0).unit; };
  EXPECT_EQ(unit("/arithmetics/add@/a/y,/c/z"), "s");
  EXPECT_EQ(unit("/arithmetics/add@/a/x,/a/y"), "mixed");
  EXPECT_EQ(unit("/arithmetics/divide@/a/x,/a/y"), "bytes/s");
  EXPECT_EQ(unit("/arithmetics/divide@/a/y,/c/z"), "1");
  EXPECT_EQ(unit("/arithmetics/multiply@/a/x,/a/y"), "bytes*s");
  EXPECT_EQ(unit("/arithmetics/variance@/a/y,/c/z"), "s^2");
  EXPECT_EQ(unit("/statistics{/a/x}/rate@100000"), "bytes/s");
}

TEST(DerivedCounters, TheyNest) {
  two t;
  EXPECT_EQ(value(t.r, "/statistics{/arithmetics/divide@/a/x,/a/y}/average@100000"), 2);
  EXPECT_EQ(value(t.r, "/arithmetics/add@{/statistics{/a/x}/rolling_max@100000,5},/a/y"), 9);
}

TEST(DerivedCounters, ErrorsAreReported) {
  two t;
  EXPECT_NE(problem(t.r, "/statistics{/a/x}/avrage@10").find("did you mean 'average'?"), std::string::npos);
  EXPECT_NE(problem(t.r, "/arithmetics/ad@/a/x,/a/y").find("did you mean 'add'?"), std::string::npos);
  EXPECT_NE(problem(t.r, "/statistics{/a/z}/average@10").find("no counter matches '/a/z'"), std::string::npos);
  EXPECT_NE(problem(t.r, "/statistics{/a/x}/average@0").find("expected @milliseconds"), std::string::npos);
  EXPECT_NE(problem(t.r, "/statistics{/a/x}/rolling_max@10,").find("expected @milliseconds"), std::string::npos);
  EXPECT_NE(problem(t.r, "/statistics{/a/x}/max@10,5").find("rolling_max only"), std::string::npos);
  EXPECT_NE(problem(t.r, "/arithmetics/add@/a/x").find("expected two counters or more"), std::string::npos);
  EXPECT_NE(problem(t.r, "/arithmetics/add@/a/x,}/a/y{").find("braces"), std::string::npos);
}

TEST(DerivedCounters, AMissingOperandIsAProblemNotACrash) {
  two t;
  EXPECT_EQ(value(t.r, "/arithmetics/add@/a/y,/c/z"), 5);
  EXPECT_EQ(value(t.r, "/statistics{/c/z}/average@1"), 2);
  t.c = registration();
  EXPECT_EQ(problem(t.r, "/arithmetics/add@/a/y,/c/z"),
            "cannot read '/arithmetics/add@/a/y,/c/z': cannot read '/c/z': it is no longer registered");
  EXPECT_EQ(value(t.r, "/statistics{/c/z}/average@1"), 2);
}

TEST(DerivedCounters, ThereIsALimit) {
  two t;
  std::string last;
  for (int i = 0; i < 1001 && last.empty(); ++i)
    last = problem(t.r, "/statistics{/a/x}/max@" + std::to_string(100000 + i));
  EXPECT_NE(last.find("the limit of 1000 derived counters is reached"), std::string::npos);
}

TEST(DerivedCounters, DestroyingTheRegistryEndsItsSampling) {
  std::atomic<int> reads{0};
  registration outlives;
  {
    counter_registry r;
    outlives = r.add({"/a/x"}, [&reads] { return ++reads; });
    EXPECT_EQ(value(r, "/statistics{/a/x}/max@1"), 1);
  }
  const int before = reads;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(reads, before);
}

}  // namespace
