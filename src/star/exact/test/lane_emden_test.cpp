#include "star/exact/polytrope.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace plx::star {
namespace {

// Chandrasekhar (1939), table 4.
TEST(LaneEmden, SurfacesAndSlopesAreThePublishedOnes) {
  const struct {
    double n, surface, slope;
  } all[] = {{0, std::sqrt(6.0), -std::sqrt(6.0) / 3},
             {1, std::numbers::pi, -1 / std::numbers::pi},
             {1.5, 3.65375, -0.203302},
             {3, 6.89685, -0.0424298}};
  for (const auto& known : all) {
    const lane_emden s(known.n);
    EXPECT_NEAR(s.surface(), known.surface, 1e-5);
    EXPECT_NEAR(s.slope(), known.slope, 1e-6);
  }
}

TEST(LaneEmden, TheSolutionOfIndexOneIsSinOverX) {
  const lane_emden s(1);
  for (double x = 0.01; x < 3.14; x += 0.0777) EXPECT_NEAR(s.at(x), std::sin(x) / x, 1e-12);
  EXPECT_EQ(s.at(3.2), 0.0);
  EXPECT_DOUBLE_EQ(s.at(0.0), 1.0);
}

// Mass by integration, hydrostatic equilibrium by differences, the virial theorem: 3 integral p dV = -W.
TEST(LaneEmden, APolytropeIsInEquilibrium) {
  for (const double n : {1.0, 1.5, 3.0}) {
    const polytrope star(n, 2.0, 0.3, 0.7);
    const int steps = 20000;
    const double dr = star.radius / steps;
    double mass = 0, virial = 0;
    for (int i = 0; i < steps; ++i) {
      const double r = (i + 0.5) * dr, rho = star.density(r), shell = 4 * std::numbers::pi * r * r * dr;
      if (i % 1000 == 500) {
        const double slope = (star.pressure(star.density(r + dr)) - star.pressure(star.density(r - dr))) / (2 * dr);
        EXPECT_NEAR(slope, -star.gravity * (mass + 0.5 * shell * rho) * rho / (r * r),
                    2e-4 * star.pressure(star.central_density) / star.radius);
      }
      mass += shell * rho;
      virial += 3 * shell * star.pressure(rho);
    }
    EXPECT_NEAR(mass, 2.0, 1e-6);
    EXPECT_NEAR(virial, -star.potential_energy(), 1e-5 * virial);
  }
}

}  // namespace
}  // namespace plx::star
