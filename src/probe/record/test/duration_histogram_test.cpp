#include "probe/record/duration_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "probe/record/recorder.hpp"

namespace {

using namespace plx::probe;

constexpr std::size_t n_bins = duration_histogram::n_bins;

TEST(DurationHistogram, EachDurationIsInItsBin) {
  for (std::size_t b = 0; b < n_bins; ++b) {
    const double low = duration_histogram::lower(b), high = duration_histogram::lower(b + 1);
    EXPECT_EQ(duration_histogram::bin_of(low), b);
    if (b + 1 < n_bins) {
      EXPECT_EQ(duration_histogram::bin_of(high), b + 1);
    }
    EXPECT_EQ(duration_histogram::bin_of(high - std::max(0.5, 1e-12 * high)), b);
    EXPECT_LE(high - low, std::max(1.0, (low + 8) / 8)) << "an eighth";
  }
  EXPECT_EQ(duration_histogram::lower(0), 0);
  EXPECT_EQ(duration_histogram::lower(5), 5);
  EXPECT_GT(duration_histogram::lower(n_bins), 30 * 60 * 3e9) << "half an hour at 3 GHz";
  EXPECT_EQ(duration_histogram::bin_of(1e300), n_bins - 1);
  EXPECT_EQ(duration_histogram::bin_of(-1e18), n_bins - 1) << "a length above 2^63";
  EXPECT_EQ(duration_histogram::bin_of(-1), n_bins - 1) << "the least duration of a type without calls";
}

TEST(DurationHistogram, QuantilesAreThoseOfTheSortedDurations) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> any(9, 2);
  std::vector<double> all(20'001);
  duration_histogram h;
  EXPECT_EQ(h.quantile(0.5), 0);
  for (double& d : all) h.add(duration_histogram::bin_of(d = std::floor(any(random))), 1);
  std::sort(all.begin(), all.end());
  for (const double share : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = all[static_cast<std::size_t>(share * 20'000)];
    EXPECT_NEAR(h.quantile(share), exact, 0.07 * exact + 1) << share;
    const auto within = static_cast<double>(h.calls_within(exact));
    EXPECT_NEAR(within, share * 20'001, 200 + static_cast<double>(n_bins)) << share;
  }
  EXPECT_EQ(h.calls(), 20'001u);
  EXPECT_EQ(h.calls_within(1e18), 20'001u);
  EXPECT_EQ(h.calls_within(-1), 0u);
}

/// 90 of 100 calls take 1000 ticks and 10 take 50,000: the mean is neither.
TEST(DurationHistogram, ARecorderSumsThoseOfItsWorkers) {
  recorder r(4);
  const name_id name = register_name("durations"), other = register_name("durations/other");
  for (unsigned i = 0; i < 100; ++i)
    r.worker(i % 4).record({.name = name, .begin = 5, .end = 5u + (i < 90 ? 1000u : 50'000u)});
  r.worker(0).record({.name = name, .begin = 0, .end = 1 << 20, .finished = false});  // no call
  r.worker(1).record({.name = other, .begin = 0, .end = 77});
  EXPECT_EQ(r.durations(name).calls(), 100u);
  EXPECT_EQ(r.durations(max_names + 1).calls(), 0u);
  const double tick_s = 1 / plx::ticks_per_second();
  for (const task_statistics& t : r.tasks()) {
    EXPECT_NEAR(t.p50_s, (t.id == name ? 1000 : 77) * tick_s, 100 * tick_s);
    EXPECT_NEAR(t.p99_s, (t.id == name ? 50'000 : 77) * tick_s, (t.id == name ? 5000 : 0.01) * tick_s);
  }
  r.worker(2).record({.name = name, .begin = 0, .end = 10, .earlier = 200'000});
  EXPECT_EQ(r.durations(name).calls_within(190'000), 100u) << "the whole duration of a suspended task";
  EXPECT_EQ(r.durations(name).calls(), 101u);
  EXPECT_EQ(r.tasks(1).at(1).id, other);
  EXPECT_DOUBLE_EQ(r.tasks(1).at(1).p50_s, 77 * tick_s) << "within the extremes";
}

}  // namespace
