#include "star/exact/spheroid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace plx::star {
namespace {

TEST(Spheroid, ASphereIsNewtons) {
  const spheroid s{0.5, 0.5, 3.0, 2.0};
  EXPECT_NEAR(s.potential({0, 0, 0}), -1.5 * 6.0 / 0.5, 1e-13);
  EXPECT_NEAR(s.potential({0.6, 0.8, 0}), -6.0, 1e-13);
  EXPECT_NEAR(s.acceleration({0, 0.6, 0.8})[2], -6.0 * 0.8, 1e-13);
  EXPECT_NEAR(s.acceleration({0.1, 0, 0})[0], -6.0 * 0.1 / 0.125, 1e-12);
  EXPECT_NEAR(s.potential_energy(), -0.6 * 2.0 * 9.0 / 0.5, 1e-12);
}

// Closed forms of the index symbols: Chandrasekhar (1969), equations 36 and 38.
TEST(Spheroid, TheIndexSymbolsAreThePublishedOnes) {
  EXPECT_NEAR(spheroid_index(1.0), 2.0 / 3.0, 1e-15);
  for (const double q : {0.1, 0.5, 0.9, 0.985, 0.995}) {
    const double e = std::sqrt(1 - q * q);
    EXPECT_NEAR(spheroid_index(q), q / (e * e * e) * std::asin(e) - q * q / (e * e), 1e-12) << q;
  }
  for (const double q : {1.005, 1.015, 1.2, 4.0}) {
    const double e2 = 1 - 1 / (q * q), e = std::sqrt(e2);
    EXPECT_NEAR(spheroid_index(q), 1 / e2 - (1 - e2) / (2 * e * e2) * std::log((1 + e) / (1 - e)), 1e-11) << q;
  }
}

// The acceleration is the gradient, the potential is continuous at the surface, and far away it is that of a point.
TEST(Spheroid, ThePotentialFitsItself) {
  for (const double polar : {0.3, 0.99, 1.7}) {
    const spheroid s{0.8, polar, 1.5, 1.0};
    for (const std::array<double, 3> x : {std::array{0.2, -0.1, 0.15}, {0.9, 0.5, -0.7}, {-0.1, 1.5, 0.01}}) {
      for (std::size_t a = 0; a < 3; ++a) {
        std::array<double, 3> up = x, down = x;
        up[a] += 1e-5, down[a] -= 1e-5;
        EXPECT_NEAR(s.acceleration(x)[a], (s.potential(down) - s.potential(up)) / 2e-5, 1e-8);
      }
    }
    EXPECT_NEAR(s.potential({0.8 - 1e-12, 0, 0}), s.potential({0.8 + 1e-12, 0, 0}), 1e-10);
    EXPECT_NEAR(s.potential({300, 200, 600}) * 700, -1.5, 2e-6);
    // Laplace's equation, inside with Poisson's source.
    for (const auto& [x, source] : {std::pair{std::array{0.1, 0.1, 0.1}, s.density()}, {{0.9, 0.6, 1.9}, 0.0}}) {
      double laplace = 0;
      for (std::size_t a = 0; a < 3; ++a) {
        std::array<double, 3> up = x, down = x;
        up[a] += 1e-4, down[a] -= 1e-4;
        laplace += (s.acceleration(down)[a] - s.acceleration(up)[a]) / 2e-4;
      }
      EXPECT_NEAR(laplace, 4 * std::numbers::pi * source, 1e-6);
    }
  }
}

TEST(FreeFall, TheSphereObeysNewtonsLaw) {
  const free_fall f{2.0, 3.0, 0.5};
  EXPECT_NEAR(f.time(), 0.5 * std::numbers::pi * std::sqrt(8.0 / 3.0), 1e-14);
  EXPECT_DOUBLE_EQ(f.at(0).ratio, 1.0);
  for (const double share : {0.1, 0.5, 0.9, 0.99}) {
    const double t = share * f.time();
    const auto s = f.at(t);
    const double r = 2.0 * s.ratio, v = 2.0 * s.rate;
    EXPECT_NEAR(0.5 * v * v - 1.5 / r, -0.75, 1e-9 / s.ratio);  // energy of a shell
    EXPECT_NEAR((f.at(t + 1e-6).ratio - f.at(t - 1e-6).ratio) / 2e-6, s.rate, 1e-5 * std::abs(s.rate));
  }
  EXPECT_LT(f.at(0.9999999 * f.time()).ratio, 1e-4);
}

}  // namespace
}  // namespace plx::star
