#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "num/exact_sum.hpp"
#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::is_refused;
using test::prepared;

TEST(MovingBody, ABallKeepsItsMassAtAllTimesAndResolutions) {
  const auto p = prepared("moving_body", {"moving_body.contrast=100", "moving_body.radius=0.2", "moving_body.mach=3"});
  const double ball = 4.0 / 3.0 * std::numbers::pi * std::pow(0.2, 3);
  for (const int n : {8, 24}) {
    const box b(n);
    for (const double t : {0.0, 0.137, 0.61}) {
      const auto u = b.fill(*p, t);
      exact_sum mass;
      for (std::size_t c = 0; c < b.size(); ++c) mass.add(u[c]);
      EXPECT_NEAR(mass.value() * b.volume(), ball + 0.01 * (1.0 - ball), 1e-14) << n << ' ' << t;
    }
  }
}

TEST(MovingBody, MovesAtItsMachNumberAlongItsDirection) {
  const auto p = prepared("moving_body", {"moving_body.mach=5", "moving_body.direction=[0,3,4]"});
  for (const double t : {0.0, 0.05}) {
    const vector middle{0.0, 3.0 * t, 4.0 * t};
    const primitive w = p->at(middle, t);
    EXPECT_DOUBLE_EQ(w.density, 1.0);
    EXPECT_DOUBLE_EQ(1.4 * w.pressure / w.density, 1.0);  // the speed of sound
    EXPECT_DOUBLE_EQ(w.velocity[1], 3.0);
    EXPECT_DOUBLE_EQ(w.velocity[2], 4.0);
  }
  EXPECT_DOUBLE_EQ(p->at({0.4, 0.4, 0.4}, 0.0).density, 1e-6);
}

TEST(MovingBody, ProfilesDifferInTheirPressure) {
  const vector outside{0.45, 0.0, 0.0};
  EXPECT_DOUBLE_EQ(prepared("moving_body", {"moving_body.profile=contact"})->at(outside, 0).pressure, 1.0 / 1.4);
  EXPECT_DOUBLE_EQ(prepared("moving_body", {"moving_body.profile=ball"})->at(outside, 0).pressure, 1e-6 / 1.4);
  EXPECT_DOUBLE_EQ(prepared("moving_body", {"moving_body.profile=star"})->at(outside, 0).pressure,
                   std::pow(1e-6, 1.4) / 1.4);
  EXPECT_TRUE(prepared("moving_body", {"moving_body.profile=contact"})->has_exact(0.3));
  EXPECT_FALSE(prepared("moving_body", {"moving_body.profile=ball"})->has_exact(0.3));
}

TEST(MovingBody, ABodyWithoutADirectionOrLargerThanTheBoxIsRefused) {
  for (const std::string bad : {"moving_body.direction=[0,0,0]", "moving_body.radius=0.6"}) {
    EXPECT_TRUE(is_refused("moving_body", bad)) << bad;
  }
}

}  // namespace
}  // namespace plx::star
