// The problems of Liska & Wendroff (2003), the double Mach reflection and the blob: states, jumps, averages,
// boundaries.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <tuple>

#include "num/exact_sum.hpp"
#include "star/exact/shocks.hpp"
#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::is_refused;
using test::prepared;

// Neighbouring quadrants of every configuration are connected by one wave: the Riemann problem across the line between
// them has a single shock, rarefaction or slip line, as Lax & Liu demand.
TEST(Riemann2d, NeighbouringQuadrantsAreConnectedBySingleWaves) {
  for (const std::string number : {"3", "4", "6", "12", "15", "17"}) {
    const auto p = prepared("riemann_2d", {"riemann_2d.configuration=" + number});
    const double h = 0.1;
    const std::tuple<vector, vector, int> borders[] = {{vector{-h, h, 0}, vector{h, h, 0}, 0},
                                                       {vector{-h, -h, 0}, vector{h, -h, 0}, 0},
                                                       {vector{-h, -h, 0}, vector{-h, h, 0}, 1},
                                                       {vector{h, -h, 0}, vector{h, h, 0}, 1}};
    for (const auto& [below, above, axis] : borders) {
      const primitive l = p->at(below, 0), r = p->at(above, 0);
      const riemann_solution between({l.density, l.velocity[axis], l.pressure},
                                     {r.density, r.velocity[axis], r.pressure}, 1.4);
      const double pressure = between.star_pressure(), speed = between.star_velocity();
      const auto is = [&](const primitive& w) {
        return std::abs(pressure / w.pressure - 1) < 2e-3 && std::abs(speed - w.velocity[axis]) < 2e-3;
      };
      EXPECT_TRUE(is(l) || is(r)) << number << " across axis " << axis << ": " << pressure << " " << speed;
    }
  }
}

TEST(Riemann2d, AConfigurationThatIsSymmetricAboutTheDiagonal) {
  for (const std::string number : {"3", "4", "12"}) {
    const auto p = prepared("riemann_2d", {"riemann_2d.configuration=" + number});
    for (const vector& x : {vector{0.3, 0.1, 0}, vector{-0.2, 0.4, 0}, vector{-0.1, -0.3, 0}}) {
      const primitive a = p->at(x, 0), b = p->at({x[1], x[0], 0}, 0);
      EXPECT_EQ(a.density, b.density);
      EXPECT_EQ(a.velocity[0], b.velocity[1]);
    }
  }
  EXPECT_NE(prepared("riemann_2d", {"riemann_2d.configuration=6"})->at({0.3, -0.1, 0}, 0).density,
            prepared("riemann_2d", {"riemann_2d.configuration=6"})->at({-0.1, 0.3, 0}, 0).density);
}

TEST(Implosion, TheCornerHoldsAnEighthOfTheSquare) {
  const auto p = prepared("implosion");
  for (const int n : {8, 10}) {
    const box b(n);
    const auto u = b.fill(*p);
    exact_sum mass;
    for (std::size_t c = 0; c < b.size(); ++c) mass.add(u[c]);
    EXPECT_NEAR(mass.value() * b.volume(), 1.0 - 0.125 * 0.875, 1e-12) << n;
    EXPECT_EQ(u[b.at(1, 3, 0)], u[b.at(3, 1, 0)]);
    EXPECT_EQ(u[b.at(1, 3, 0)], u[b.at(1, 3, n - 1)]);
  }
}

TEST(Piecewise, HasItsStatesAlongALineAndAroundACentre) {
  const std::vector<std::string> states{"piecewise.edges=[0.1,0.3]", "piecewise.density=[1,2,3]",
                                        "piecewise.velocity=[0,-1,5]", "piecewise.pressure=[4,5,6]"};
  const auto line = prepared("piecewise", states);
  EXPECT_EQ(line->at({0.05, 0.4, 0.4}, 0).density, 1.0);
  EXPECT_EQ(line->at({0.2, 0.4, 0.4}, 0).velocity[0], -1.0);
  EXPECT_EQ(line->at({0.4, 0, 0}, 0).pressure, 6.0);
  std::vector<std::string> round = states;
  round.insert(round.end(), {"piecewise.shape=sphere", "piecewise.centre=[0.1,0,0]"});
  const primitive w = prepared("piecewise", round)->at({0.1, 0.12, 0.16}, 0);  // 0.2 from the centre
  EXPECT_EQ(w.density, 2.0);
  EXPECT_NEAR(w.velocity[1], -0.6, 1e-15);
  EXPECT_NEAR(w.velocity[2], -0.8, 1e-15);
  round[4] = "piecewise.shape=cylinder";
  EXPECT_EQ(prepared("piecewise", round)->at({0.2, 0, 0.4}, 0).density, 2.0);
  for (const char* wrong : {"piecewise.edges=[0.1,0.2]", "piecewise.edges=[]", "piecewise.density=[1]"})
    EXPECT_TRUE(is_refused("piecewise", wrong)) << wrong;
}

TEST(Piecewise, AveragesHoldTheMassOfACircle) {
  const box b(16);
  const auto u = b.fill(*prepared("piecewise", {"piecewise.shape=cylinder", "piecewise.edges=[0.3]",
                                                "piecewise.density=[2,1]", "piecewise.pressure=[1,1]"}));
  exact_sum mass;
  for (int c = 0; c < 16 * 16 * 16; ++c) mass.add(u[c] / (16 * 16 * 16));
  EXPECT_NEAR(mass.value(), 1.0 + std::numbers::pi * 0.09, 2e-3);
}

TEST(Noh, SatisfiesTheJumpConditionsAtItsShock) {
  for (const std::string dimensions : {"2", "3"})
    for (const double gamma : {5.0 / 3.0, 1.4}) {
      problem_setting s;
      s.eos = eos_parameters{gamma};
      const auto p = prepared("noh", {"noh.dimensions=" + dimensions, "noh.pressure=1e-12"}, s);
      const double t = 0.7, shock = 0.5 * (gamma - 1.0), r = shock * t;
      const primitive behind = p->at({r * (1 - 1e-9), 0, 0}, t), ahead = p->at({r * (1 + 1e-9), 0, 0}, t);
      const double flux = ahead.density * (ahead.velocity[0] - shock);
      EXPECT_NEAR(flux, behind.density * (behind.velocity[0] - shock), 1e-6);
      EXPECT_NEAR(flux * ahead.velocity[0] + ahead.pressure, flux * behind.velocity[0] + behind.pressure, 1e-6);
      EXPECT_EQ(behind.velocity[0], 0.0);
      EXPECT_EQ(p->references(t).at(0).value, r);
      const double ratio = (gamma + 1.0) / (gamma - 1.0);  // 4, or 6
      EXPECT_NEAR(behind.density, dimensions == "3" ? ratio * ratio * ratio : ratio * ratio, 1e-12);
      EXPECT_TRUE(p->gives_outside(1, 2.0));
      EXPECT_EQ(p->outside(1, {0.6, 0.1, 0}, t)->density, p->at({0.6, 0.1, 0}, t).density);
    }
}

TEST(DoubleMach, HasAMach10ShockAndGivesItsBoundaries) {
  problem_setting s;
  s.lower = {0, 0, 0}, s.upper = {4, 1, 0.125};
  const auto p = prepared("double_mach", {}, s);
  const primitive behind = p->at({0.1, 0.01, 0}, 0), ahead = p->at({0.2, 0.01, 0}, 0);
  EXPECT_NEAR(behind.density, 8.0, 1e-12);
  EXPECT_NEAR(behind.pressure, 116.5, 1e-12);
  EXPECT_NEAR(behind.velocity[0], 8.25 * std::cos(std::numbers::pi / 6), 1e-12);
  EXPECT_NEAR(behind.velocity[1], -8.25 * 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(ahead.density, 1.4);
  const double t = 0.15, at_top = 1.0 / 6.0 + (1.0 + 20.0 * t) / std::numbers::sqrt3;  // the front on y = 1
  EXPECT_NEAR(p->outside(3, {at_top - 1e-6, 1, 0}, t)->density, 8.0, 1e-12);
  EXPECT_DOUBLE_EQ(p->outside(3, {at_top + 1e-6, 1, 0}, t)->density, 1.4);
  EXPECT_TRUE(p->outside(2, {0.16, -0.01, 0}, t));
  EXPECT_FALSE(p->outside(2, {0.17, -0.01, 0}, t));  // the wall
  for (const int face : {0, 2, 3}) EXPECT_TRUE(p->gives_outside(face, 0.2));
  for (const int face : {1, 4, 5}) EXPECT_FALSE(p->gives_outside(face, 0.2));
  EXPECT_TRUE(is_refused("double_mach", "double_mach.wall=4"));
}

TEST(Blob, HoldsItsMassInPressureEquilibrium) {
  const auto p = prepared("blob", {"blob.radius=0.2"});
  const box b(12);
  const auto u = b.fill(*p);
  exact_sum mass;
  for (std::size_t c = 0; c < b.size(); ++c) mass.add(u[c]);
  EXPECT_NEAR(mass.value() * b.volume(), 1.0 + 9.0 * 4.0 / 3.0 * std::numbers::pi * std::pow(0.2, 3), 1e-12);
  EXPECT_EQ(p->at({0, 0, 0}, 0).pressure, p->at({0.4, 0, 0}, 0).pressure);
  EXPECT_EQ(p->at({0, 0, 0}, 0).density, 10.0);
  EXPECT_EQ(p->inflow(0).velocity[0], 2.7);
  EXPECT_TRUE(is_refused("blob", "blob.radius=0.6"));
}

}  // namespace
}  // namespace plx::star
