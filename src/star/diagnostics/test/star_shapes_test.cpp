#include "star/diagnostics/star_finder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plx::star {
namespace {

/// Two point masses on a circular orbit about the origin, with separation 1 and total mass 1; the first at x > 0.
std::vector<star_state> pair_of_points(double first) {
  const double second = 1.0 - first;
  return {{first, 1.0, {second, 0, 0}, {0, second, 0}, {-second, 0, 0}},
          {second, 1.0, {-first, 0, 0}, {0, -first, 0}, {first, 0, 0}}};
}

vector attraction(const std::vector<star_state>& stars, const vector& x) {
  vector g{};
  for (const star_state& s : stars) {
    const vector to = s.centre - x;
    g = g + (s.mass / std::pow(norm(to), 3)) * to;
  }
  return g;
}

// Values of Eggleton's formula as in textbooks, and its limits.
TEST(StarShapes, RocheRadii) {
  EXPECT_NEAR(eggleton_radius(1.0), 0.379, 5e-4);
  EXPECT_NEAR(eggleton_radius(0.1), 0.207, 5e-4);
  EXPECT_NEAR(eggleton_radius(10.0), 0.578, 5e-4);
  EXPECT_NEAR(eggleton_radius(1e-6) / std::cbrt(1e-6), 0.49 / 1.1 * 1.1, 0.05);
}

TEST(StarShapes, APairHasItsCentreAndAngularVelocity) {
  const auto stars = pair_of_points(0.75);
  const star_pair pair = pair_of(stars, 1);
  EXPECT_EQ(pair.partner, 0);
  EXPECT_NEAR(pair.roche_radius, eggleton_radius(1.0 / 3.0), 1e-15);
  EXPECT_NEAR(norm(pair.centre) + norm(pair.acceleration), 0.0, 1e-15);
  EXPECT_NEAR(pair.angular_velocity[2], 1.0, 1e-15);
  const star_pair none = pair_of(std::vector<star_state>{stars[0]}, 0);
  EXPECT_EQ(none.partner, -1);
  EXPECT_EQ(none.roche_radius, std::numeric_limits<double>::infinity());
}

// On the line of centres membership changes at the inner Lagrange point, and ends at the outer ones; the surroundings
// belong to no star.
TEST(StarShapes, CellsChangeTheStarAtTheLagrangePoint) {
  const auto stars = pair_of_points(0.75);
  diagnostics_options o;
  o.star_reach = 10;
  const star_shapes shapes(stars, o);
  const auto at = [&](double x, double density = 1.0) {
    return shapes.star_of({x, 0, 0}, attraction(stars, {x, 0, 0}), density, 1e-3);
  };
  double lower = -0.7, upper = 0.2;  // of the inner point
  while (upper - lower > 1e-10) {
    const double x = 0.5 * (lower + upper), pull = attraction(stars, {x, 0, 0})[0] + x;
    (pull < 0 ? lower : upper) = x;
  }
  EXPECT_EQ(at(lower - 1e-3), 1);
  EXPECT_EQ(at(lower + 1e-3), 0);
  EXPECT_EQ(at(1.1), 0);
  EXPECT_EQ(at(1.4), -1);  // effective gravity points outwards
  EXPECT_EQ(at(-1.6), -1);
  EXPECT_EQ(at(0.3, 0.9e-5), -1);
  EXPECT_EQ(at(0.25), 0);  // in the centre itself
  o.star_reach = 1.0;
  const star_shapes close(stars, o);
  EXPECT_EQ(close.star_of({0.25, eggleton_radius(3.0) - 0.01, 0}, {0, -1, 0}, 1.0, 1e-3), 0);
  EXPECT_EQ(close.star_of({0.25, eggleton_radius(3.0) + 0.01, 0}, {0, -1, 0}, 1.0, 1e-3), -1);
}

// A distant third body accelerates the pair, which does not change the shapes.
TEST(StarShapes, APairInAFieldIsSeenInItsOwnFrame) {
  auto stars = pair_of_points(0.5);
  const vector push{3.0, -2.0, 1.0};
  for (star_state& s : stars) s.acceleration = s.acceleration + push;
  diagnostics_options o;
  const star_shapes shapes(stars, o);
  for (const double x : {-0.7, -0.3, -0.05, 0.05, 0.3, 0.7})
    for (const double y : {-0.2, 0.1}) {
      const vector g = attraction(pair_of_points(0.5), {x, y, 0});
      EXPECT_EQ(shapes.star_of({x, y, 0}, g + push, 1.0, 1e-3), x > 0 ? 0 : 1) << x;
    }
}

}  // namespace
}  // namespace plx::star
