#include "gpu/core/timeline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace plx::gpu::detail {
namespace {

// A device clock with another origin, 20 parts per million fast, observed every quarter of a second through windows of
// some microseconds, some of them disturbed.
TEST(device_clock, follows_a_clock_that_drifts) {
  const double tick_s = 1 / ticks_per_second();
  const ticks origin = ticks_from(1000);
  const double offset_s = 5000, fast = 1 + 20e-6;
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> within(0, 1);
  device_clock c;
  EXPECT_FALSE(c.known());
  double worst_s = 0;
  for (int i = 0; i < 400; ++i) {
    const double at_s = 0.25 * i;  // host time since the origin
    const double window_s = i % 10 == 9 ? 400e-6 : 8e-6 + 4e-6 * within(rng);
    const double share = within(rng);
    const auto ours = [&](double s) { return origin + static_cast<ticks>(std::llround(s / tick_s)); };
    if (i >= 8) {  // extrapolation beyond the newest observation
      for (const double later_s : {0.0, 0.1, 0.25}) {
        const double t = (at_s - 0.25 + later_s);
        const ticks measured = c.at(offset_s + t * fast);
        worst_s = std::max(worst_s, std::abs(static_cast<double>(measured) - static_cast<double>(ours(t))) * tick_s);
      }
    }
    c.observe(offset_s + at_s * fast, ours(at_s - share * window_s + (i == 0 ? 1e-6 : 0)),
              ours(at_s + (1 - share) * window_s));
  }
  EXPECT_TRUE(c.known());
  EXPECT_LT(worst_s, 12e-6);
}

TEST(device_clock, stays_within_the_bounds_of_an_observation) {
  device_clock c;
  const ticks origin = ticks_from(100);
  c.observe(0, origin, origin + 1000);
  EXPECT_EQ(c.at(0), origin + 500);
  const ticks second = origin + ticks_from(1);
  c.observe(1, second + 5000, second + 6000);  // far from the prediction
  EXPECT_GE(c.at(1), second + 4999);
  EXPECT_LE(c.at(1), second + 6001);
  EXPECT_LT(c.at(-1), origin);  // before the first observation
}

TEST(device_clock, finds_the_nearest_moment) {
  const double moments[] = {0, 0.25, 0.5, 1000, 1000.25, 1000.5};
  const auto nearest = [&](std::uint32_t first, std::uint32_t end, double at_s) {
    return nearest_moment(first, end, at_s, [&](std::uint32_t k) { return moments[k]; });
  };
  EXPECT_EQ(nearest(0, 6, 1000.1), 3u);  // submitted before the clocks were compared again after a long time
  EXPECT_EQ(nearest(0, 6, 1000.2), 4u);
  EXPECT_EQ(nearest(0, 6, 2000), 5u);
  EXPECT_EQ(nearest(0, 6, 499), 2u);
  EXPECT_EQ(nearest(0, 6, -1), 0u);
  EXPECT_EQ(nearest(4, 6, 0), 4u);  // older references are discarded
  EXPECT_EQ(nearest(2, 3, 1000), 2u);
}

}  // namespace
}  // namespace plx::gpu::detail
