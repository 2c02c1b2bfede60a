#include "star/exact/spheroid.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <random>

namespace plx::star {
namespace {

using vector = std::array<double, 3>;

TEST(BallBox, KnownVolumes) {
  const double ball = 4 * std::numbers::pi / 3;
  EXPECT_EQ(ball_fraction(1, {0, 0, 0}, {0.5, 0.5, 0.5}), 1);
  EXPECT_EQ(ball_fraction(1, {2, 0, 0}, {0.5, 0.5, 0.5}), 0);
  EXPECT_NEAR(ball_fraction(1, {0, 0, 0}, {2, 2, 2}) * 8, ball, 1e-14);
  EXPECT_NEAR(ball_fraction(1, {0, 0, 0}, {8, 4, 2}) * 64, ball, 1e-13);
  EXPECT_NEAR(ball_fraction(1, {0.5, 0.5, 0.5}, {1, 1, 1}), ball / 8, 1e-15);
  EXPECT_NEAR(ball_fraction(2, {3, 0, 0}, {4, 4, 4}) * 64, std::numbers::pi * (3 * 2 - 1) / 3, 1e-13);  // a cap
}

TEST(BallBox, AgreesWithSampling) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 60; ++trial) {
    const vector centre{uniform(random), uniform(random), uniform(random)};
    const vector width{0.5 + 0.4 * uniform(random), 0.5 + 0.4 * uniform(random), 0.5 + 0.4 * uniform(random)};
    constexpr int n = 40;
    int inside = 0;
    for (int i = 0; i < n * n * n; ++i) {
      const vector x{centre[0] + width[0] * ((i % n + 0.5) / n - 0.5),
                     centre[1] + width[1] * ((i / n % n + 0.5) / n - 0.5),
                     centre[2] + width[2] * ((i / n / n + 0.5) / n - 0.5)};
      inside += x[0] * x[0] + x[1] * x[1] + x[2] * x[2] < 0.64;
    }
    EXPECT_NEAR(ball_fraction(0.8, centre, width), inside / double(n * n * n), 2e-3);
  }
}

TEST(BallBox, CellsOfAnySizeSumToTheBall) {
  for (const int n : {3, 8, 17, 32}) {
    const double width = 2.0 / n, radius = 0.77;
    double sum = 0;
    for (int i = 0; i < n * n * n; ++i) {
      const vector centre{width * (i % n + 0.5) - 1, width * (i / n % n + 0.5) - 1, width * (i / n / n + 0.5) - 1};
      sum += ball_fraction(radius, centre, {width, width, width}) * width * width * width;
    }
    EXPECT_NEAR(sum, 4 * std::numbers::pi / 3 * radius * radius * radius, 1e-13) << n;
  }
}

TEST(BallBox, MirroredAndPermutedCellsGiveTheSameBits) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 2000; ++trial) {
    const vector c{uniform(random), uniform(random), uniform(random)}, w{0.3, 0.3, 0.3};
    const double fraction = ball_fraction(0.9, c, w);
    EXPECT_EQ(ball_fraction(0.9, {-c[0], c[1], c[2]}, w), fraction);
    EXPECT_EQ(ball_fraction(0.9, {-c[0], -c[1], -c[2]}, w), fraction);
    EXPECT_EQ(ball_fraction(0.9, {c[1], c[2], c[0]}, w), fraction);
    EXPECT_EQ(ball_fraction(0.9, {c[2], c[1], c[0]}, w), fraction);
    EXPECT_EQ(ball_fraction(0.9, {c[1], c[0], -c[2]}, w), fraction);
  }
}

}  // namespace
}  // namespace plx::star
