#include "star/exact/polytrope.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace plx::star {
namespace {

// Known values for gamma = 5/3, such as those of Cox (1980), chapter 8.
TEST(Pulsation, FrequenciesAreTheKnownOnes) {
  const struct { double n, first, second; } all[] = {{1.5, 2.706, 12.54}, {3, 9.255, 16.98}};
  for (const auto& known : all) {
    const polytrope star(known.n, 1, 1, 1);
    EXPECT_NEAR(pulsation(star, 5.0 / 3.0).square(), known.first, 1e-3) << known.n;
    EXPECT_NEAR(pulsation(star, 5.0 / 3.0, 1).square(), known.second, 1e-2) << known.n;
  }
}

// Rayleigh's quotient of the mode, w^2 = integral of (gamma p r^4 h'^2 - (3 gamma - 4) p' r^3 h^2) over that of
// rho r^4 h^2, is stationary: errors of the mode hardly change it.
TEST(Pulsation, TheModeGivesItsFrequency) {
  const double gamma = 1.6;
  const polytrope star(1.0, 2.0, 0.5, 3.0);
  for (const int overtone : {0, 1}) {
    const pulsation p(star, gamma, overtone);
    double above = 0, below = 0;
    const double dr = 1e-4, d = 1e-3;
    for (double r = 1.5 * d; r < star.radius - d; r += dr) {
      const auto h = [&](double at) { return p.displacement(at) * star.radius / at; };
      const auto pressure = [&](double at) { return star.pressure(star.density(at)); };
      const double slope = (h(r + d) - h(r - d)) / (2 * d), fall = (pressure(r + d) - pressure(r - d)) / (2 * d);
      above +=
          gamma * pressure(r) * std::pow(r, 4) * slope * slope - (3 * gamma - 4) * fall * std::pow(r, 3) * h(r) * h(r);
      below += star.density(r) * std::pow(r, 4) * h(r) * h(r);
    }
    EXPECT_NEAR(above / below, p.frequency() * p.frequency(), 2e-3 * p.frequency() * p.frequency());
  }
}

// A star of nearly uniform density: w^2 = (3 gamma - 4) G M / R^3, dr proportional to r.
TEST(Pulsation, AUniformStarPulsatesByScaling) {
  const pulsation p(polytrope(1e-3, 2.0, 0.5, 3.0), 1.5);
  EXPECT_NEAR(p.square(), 0.5, 2e-3);
  EXPECT_NEAR(p.frequency(), std::sqrt(0.5 * 6.0 / 0.125), 5e-2);
  for (const double r : {0.1, 0.3, 0.45}) EXPECT_NEAR(p.displacement(r), r / 0.5, 2e-3);
  EXPECT_EQ(p.displacement(0.5), 1.0);
  EXPECT_EQ(p.displacement(0.51), 0.0);
}

TEST(Pulsation, OvertonesHaveNodes) {
  const polytrope star(1.5, 1, 1, 1);
  for (const int overtone : {0, 1, 2}) {
    const pulsation p(star, 5.0 / 3.0, overtone);
    int nodes = 0;
    for (double r = 0.02; r < 0.99; r += 0.01) nodes += p.displacement(r) * p.displacement(r + 0.01) < 0 ? 1 : 0;
    EXPECT_EQ(nodes, overtone);
  }
}

}  // namespace
}  // namespace plx::star
