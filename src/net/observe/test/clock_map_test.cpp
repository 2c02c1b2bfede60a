// The error of the map between two clocks is within its bound for any rates and any asymmetry of the delays.
#include "net/observe/clock_offsets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace {

using plx::ticks;
using plx::net::best_point;
using plx::net::clock_exchange;
using plx::net::clock_map;
using plx::net::clock_point;

TEST(ClockMap, IsTheIdentityWithoutPoints) {
  clock_map m;
  EXPECT_FALSE(m.known());
  EXPECT_EQ(m(12345), 12345u);
  EXPECT_EQ(m.offset_s(), 0);
  EXPECT_EQ(m.drift(), 0);
}

TEST(ClockMap, TheFastestExchangeIsKept) {
  EXPECT_FALSE(best_point({}));
  const clock_exchange backwards[] = {{.asked = 10, .there = 7, .answered = 9}};
  EXPECT_FALSE(best_point(backwards));
  const clock_exchange some[] = {{100, 5000, 200}, {300, 5100, 310}, {400, 5200, 450}};
  const auto p = best_point(some);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->there, 5100u);
  EXPECT_EQ(p->here, 305u);
  EXPECT_EQ(p->uncertainty, 5u);
}

TEST(ClockMap, LineThroughTwoPoints) {
  clock_map m(1e9, 2e9);  // the other one is twice as fast, and 10 ppm slower than its nominal rate
  ASSERT_TRUE(m.add({.there = 2'000'000, .here = 5'000'000, .uncertainty = 10}));
  ASSERT_TRUE(m.add({.there = 2'000'000 + 2'000'000'000, .here = 5'000'000 + 1'000'010'000, .uncertainty = 10}));
  EXPECT_NEAR(m.drift(), 1e-5, 1e-9);
  EXPECT_NEAR(m.offset_s(), 5e-3 - 1e-3, 1e-12);
  EXPECT_NEAR(m.uncertainty_s(), 1e-8, 1e-15);
  EXPECT_EQ(m(2'000'000), 5'000'000u);
  EXPECT_EQ(m(2'000'000 + 1'000'000'000), 5'000'000u + 500'005'000u);
  EXPECT_EQ(m(2'000'000 + 4'000'000'000), 5'000'000u + 2'000'020'000u);  // after the last one
  EXPECT_EQ(m(0), 5'000'000u - 1'000'010u);                              // before the first one
  EXPECT_FALSE(m.add({.there = 1, .here = 9'000'000'000, .uncertainty = 1}));
  EXPECT_FALSE(m.add({.there = 9'000'000'000, .here = 1, .uncertainty = 1}));
}

TEST(ClockMap, PointsTooCloseTogetherGiveNoRate) {
  clock_map m(1e9, 1e9);
  ASSERT_TRUE(m.add({.there = 1'000'000, .here = 2'000'000, .uncertainty = 500}));
  ASSERT_TRUE(m.add({.there = 1'010'000, .here = 2'010'400, .uncertainty = 500}));
  EXPECT_EQ(m.drift(), 0);
  EXPECT_EQ(m(1'010'000 + 1'000'000), 2'010'400u + 1'000'000u);
}

TEST(ClockMap, IsNeverNegative) {
  clock_map m(1e9, 1e9);
  ASSERT_TRUE(m.add({.there = 1'000'000, .here = 10, .uncertainty = 1}));
  EXPECT_EQ(m(500'000), 0u);
}

// Two clocks as functions of true time; the delays of the two directions are drawn independently.
TEST(ClockMap, TheErrorIsWithinTheUncertainty) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(seed);
    const auto uniform = [&](double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); };
    const double nominal_here = uniform(1e8, 4e9), nominal_there = uniform(1e8, 4e9);
    const double rate_here = nominal_here * (1 + uniform(-2e-5, 2e-5)),
                 rate_there = nominal_there * (1 + uniform(-2e-5, 2e-5));
    const double start_here = uniform(1e12, 1e15), start_there = uniform(1e12, 1e15);
    const auto here = [&](double t) { return static_cast<ticks>(start_here + rate_here * t); };
    const auto there = [&](double t) { return static_cast<ticks>(start_there + rate_there * t); };
    const double least_out = uniform(0.2e-6, 200e-6), least_back = uniform(0.2e-6, 200e-6);
    clock_map m(nominal_here, nominal_there);
    double t = 1, first = 0, last = 0;
    ticks most = 0;
    const int points = 2 + static_cast<int>(random() % 5);
    for (int p = 0; p < points; ++p) {
      std::vector<clock_exchange> tries;
      for (int i = 0; i < 32; ++i) {
        const double out = least_out * (1 + std::exponential_distribution<double>(1)(random)),
                     back = least_back * (1 + std::exponential_distribution<double>(1)(random));
        tries.push_back({here(t), there(t + out), here(t + out + back)});
        t += out + back;
      }
      const auto best = best_point(tries);
      ASSERT_TRUE(best);
      ASSERT_TRUE(m.add(*best));
      most = std::max(most, best->uncertainty);
      const double at = (static_cast<double>(best->there) - start_there) / rate_there;
      if (p == 0) first = at;
      last = at;
      t += uniform(0.01, 100);
    }
    EXPECT_NEAR(m.uncertainty_s(), static_cast<double>(most) / nominal_here, 1e-12);
    ticks before = 0;
    for (int i = 0; i <= 1000; ++i) {
      const double at = first + (last - first) * i / 1000.0;
      const ticks mapped = m(there(at)), truth = here(at);
      const ticks error = mapped > truth ? mapped - truth : truth - mapped;
      ASSERT_LE(error, most + 3) << "seed " << seed << " at " << at;  // 3: clocks and the map are rounded to ticks
      ASSERT_GT(mapped, before) << "seed " << seed;
      before = mapped;
    }
    // One tick of the slower clock advances the map by at least one step everywhere, including at the points.
    for (const clock_point& p : m.points())
      for (ticks d = 0; d < 50; ++d) ASSERT_LE(m(p.there - 25 + d), m(p.there - 24 + d));
  }
}

}  // namespace
