// Problems with gravity: mass on any mesh, exact solutions, and options that are refused.
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

problem_setting in_gravity(double half, double strength = 0.0) {
  problem_setting s;
  s.lower = {-half, -half, -half}, s.upper = {half, half, half};
  s.eos = equation_of_state({.gamma = 5.0 / 3.0});
  s.gravity = 1.0;
  s.attractor = {strength, {}, 0.2};
  return s;
}

double sum_over(const box& b, const std::vector<double>& u, int variable) {
  exact_sum sum;
  for (std::size_t c = 0; c < b.size(); ++c) sum.add(u[static_cast<std::size_t>(variable) * b.size() + c]);
  return sum.value() * b.volume();
}

TEST(GravityProblems, ASpheroidHasItsMass) {
  const auto p = prepared(
      "spheroid",
      {"spheroid.equatorial_radius=0.7", "spheroid.polar_radius=0.4", "spheroid.surroundings=1e-9", "spheroid.mass=3"},
      in_gravity(1));
  for (const int n : {8, 24}) {
    const box b(n, 2);
    EXPECT_NEAR(sum_over(b, b.fill(*p), i_density), 3.0, 1e-7);
  }
  EXPECT_TRUE(p->has_exact(0));
  EXPECT_FALSE(p->has_exact(0.1));  // only spheres stay homogeneous spheres
}

// The averages at a later time have the same mass, and the kinetic energy that the potential energy has lost.
TEST(GravityProblems, ACollapsingSphereKeepsMassAndEnergy) {
  const auto p = prepared("spheroid",
                          {"spheroid.equatorial_radius=0.8", "spheroid.surroundings=1e-9", "spheroid.pressure=1e-9",
                           "spheroid.velocity=[0,0,0.1]"},
                          in_gravity(1));
  EXPECT_FALSE(p->has_exact(1.0));
  const box b(16, 2);
  const auto u = b.fill(*p, 0.5);
  const double radius = p->references(0.5)[1].value;
  EXPECT_LT(radius, 0.75);
  EXPECT_NEAR(sum_over(b, u, i_density), 1.0, 1e-7);
  EXPECT_NEAR(sum_over(b, u, i_momentum + 2), 0.1, 1e-3);
  EXPECT_NEAR(sum_over(b, u, i_energy), 0.6 * (1 / radius - 1 / 0.8) + 0.005, 0.01);
}

TEST(GravityProblems, EvrardsSphereHasItsMassAndHeat) {
  const auto p = prepared("evrard", {"evrard.radius=0.8", "evrard.mass=2", "evrard.surroundings=1e-9"}, in_gravity(1));
  const box b(16, 2);
  const auto u = b.fill(*p);
  EXPECT_NEAR(sum_over(b, u, i_density), 2.0, 0.01);
  EXPECT_NEAR(sum_over(b, u, i_energy), 0.05 * 2 * 2 / 0.8, 0.01);
}

// Radial balance of pressure, rotation and the point mass, and along z.
TEST(GravityProblems, ADiskIsInEquilibrium) {
  const auto p = prepared("kepler_disk", {"kepler_disk.sound_speed=0.3"}, in_gravity(2, 1.5));
  const point_mass& m = p->setting().attractor;
  const double h = 1e-5;
  for (const vector x : {vector{1, 0, 0}, {0.9, 0, 0.1}, {1.2, 0, -0.15}}) {
    const primitive w = p->at(x, 0);
    ASSERT_GT(w.density, 0.01);
    const double pull = m.pull(x[0], x[1], x[2]);
    const auto slope = [&](int a) {
      vector up = x, down = x;
      up[static_cast<std::size_t>(a)] += h, down[static_cast<std::size_t>(a)] -= h;
      return (p->at(up, 0).pressure - p->at(down, 0).pressure) / (2 * h);
    };
    EXPECT_NEAR(-slope(0) / w.density + pull * x[0] + w.velocity[1] * w.velocity[1] / x[0], 0, 1e-6);
    EXPECT_NEAR(-slope(2) / w.density + pull * x[2], 0, 1e-6);
  }
  EXPECT_DOUBLE_EQ(p->at({1, 0, 0}, 0).density, 1.0);
  // The thin gas around it is in hydrostatic equilibrium.
  const primitive out = p->at({0.3, 0, 0.8}, 0), up = p->at({0.3, 0, 0.8 + h}, 0);
  EXPECT_NEAR((up.pressure - out.pressure) / h, out.density * m.pull(0.3, 0, 0.8) * 0.8, 1e-9);
}

TEST(GravityProblems, TwoStarsOrbitTheirCentreOfMass) {
  for (const char* synchronous : {"false", "true"}) {
    const auto p = prepared("two_stars",
                            {"two_stars.masses=[0.6,0.3]", "two_stars.radii=[0.3,0.25]", "two_stars.separation=1",
                             "two_stars.atmosphere=1e-9", std::string("two_stars.synchronous=") + synchronous},
                            in_gravity(1.2));
    const box b(16, 2.4);
    const auto u = b.fill(*p);
    EXPECT_NEAR(sum_over(b, u, i_density), 0.9, 0.01);
    for (int a = 0; a < 3; ++a) EXPECT_NEAR(sum_over(b, u, i_momentum + a), 0.0, 0.01);
    const auto known = p->references(0);
    EXPECT_NEAR(known[0].value, 2 * std::numbers::pi / std::sqrt(0.9), 1e-12);
    const double turn = std::sqrt(0.9), reduced = 0.6 * 0.3 / 0.9;
    EXPECT_NEAR(known[2].value, reduced * turn, 1e-12);
    EXPECT_NEAR(p->at({1.0 / 3, 0, 0}, 0).velocity[1], turn / 3, 1e-12);
    EXPECT_NEAR(p->at({1.0 / 3, 0.1, 0}, 0).velocity[0], *synchronous == 't' ? -0.1 * turn : 0.0, 1e-12);
  }
}

TEST(GravityProblems, APulsatingStarStartsWithItsMode) {
  const auto p = prepared("polytrope", {"polytrope.radius=0.8", "polytrope.pulsation=0.1"}, in_gravity(1));
  const auto known = p->references(0);
  EXPECT_EQ(known.back().name, "pulsation_period");
  EXPECT_NEAR(known.back().value, 3.8197 * std::pow(0.8, 1.5), 1e-3);
  EXPECT_NEAR(p->at({0, 0, 0.79999}, 0).velocity[2], 0.1 * 0.8 * 2 * std::numbers::pi / known.back().value, 1e-3);
  EXPECT_EQ(p->at({0, 0.9, 0}, 0).velocity[1], 0.0);
  EXPECT_FALSE(p->has_exact(0.1));
}

// dp/dr = rho v^2 / r.
TEST(GravityProblems, GreshosVortexIsInEquilibrium) {
  const auto p = prepared("gresho", {"gresho.mach=0.5", "gresho.velocity=[0.3,0,0]"});
  const double h = 1e-6;
  for (const double r : {0.1, 0.19, 0.21, 0.3, 0.39, 0.45}) {
    const double slope = (p->at({0, r + h, 0}, 0).pressure - p->at({0, r - h, 0}, 0).pressure) / (2 * h);
    const double v = p->at({0, r, 0}, 0).velocity[0] - 0.3;
    EXPECT_NEAR(slope, v * v / r, 1e-6) << r;
  }
  const primitive fast = p->at({0.2, 0, 0}, 0);
  EXPECT_DOUBLE_EQ(fast.velocity[1], 1.0);
  EXPECT_NEAR(p->setting().eos.sound_speed(fast.density, fast.pressure), 2.0, 1e-12);
  EXPECT_NEAR(p->at({0.5, 0, 0}, 1.0).velocity[1], p->at({0.2, 0, 0}, 0).velocity[1], 1e-12);  // carried by the flow
}

// The linear equations of the gas and its gravity, phi = -4 pi G rho d / k^2, by differences; the waves on both sides
// of Jeans' length.
TEST(GravityProblems, JeansWavesSolveTheLinearEquations) {
  for (const double gravity : {1.0, 20.0}) {
    problem_setting setting = in_gravity(0.5);
    setting.gravity = gravity;
    const auto p = prepared("jeans_wave", {"jeans_wave.direction=[1,-1,1]", "jeans_wave.density=2"}, setting);
    const vector x{0.11, 0.07, -0.2};
    const double t = 0.03, h = 1e-4, k2 = 12.0 * std::numbers::pi * std::numbers::pi;
    const auto slope = [&](auto&& value, std::size_t axis) {
      vector up = x, down = x;
      up[axis] += h, down[axis] -= h;
      return (value(p->at(up, t)) - value(p->at(down, t))) / (2.0 * h);
    };
    const auto rate = [&](auto&& value) { return (value(p->at(x, t + h)) - value(p->at(x, t - h))) / (2.0 * h); };
    double flow = 0.0;
    for (std::size_t a = 0; a < 3; ++a) {
      const auto velocity = [a](const primitive& w) { return w.velocity[a]; };
      const auto density = [](const primitive& w) { return w.density; };
      const auto pressure = [](const primitive& w) { return w.pressure; };
      flow += 2.0 * slope(velocity, a);
      const double field = 4.0 * std::numbers::pi * gravity / k2 * slope(density, a);
      EXPECT_NEAR(2.0 * rate(velocity), -slope(pressure, a) + 2.0 * field, 1e-6);
    }
    EXPECT_NEAR(rate([](const primitive& w) { return w.density; }), -flow, 1e-6);
    const auto known = p->references(0);
    const bool grows = known[1].value > known[0].value;
    EXPECT_EQ(grows, gravity == 20.0);
    EXPECT_EQ(known[2].name, grows ? "growth_rate" : "wave_period");
    EXPECT_TRUE(p->has_exact(0.1));
    EXPECT_EQ(p->has_exact(10.0), !grows);  // to first order in the amplitude
  }
}

TEST(GravityProblems, JeansWavesNeedGravityAndAPeriodicBox) {
  EXPECT_TRUE(is_refused("jeans_wave", "jeans_wave.amplitude=1e-3"));  // without gravity.self
  problem_setting s = in_gravity(0.5);
  s.grid.emplace();
  s.grid->sides.fill(mesh::boundary::periodic);
  s.grid->sides[2] = s.grid->sides[3] = mesh::boundary::outflow;
  auto p = make_problem("jeans_wave").value();
  const auto done = p->prepare(s);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message,
            "jeans_wave: expected \"periodic\" in all mesh.sides, found another kind along axis 1");
}

// Exact forces of isolated bodies are not those of bodies with images.
TEST(GravityProblems, NothingIsKnownOfIsolatedBodiesInPeriodicBoxes) {
  problem_setting s = in_gravity(0.5);
  s.grid.emplace();
  s.grid->lower = s.lower, s.grid->upper = s.upper;
  for (const bool periodic : {false, true}) {
    s.grid->sides.fill(periodic ? mesh::boundary::periodic : mesh::boundary::outflow);
    for (const char* name : {"spheroid", "evrard"}) {
      const auto done = make_problem(name).value()->prepare(s);
      EXPECT_EQ(bool(done), !periodic);
      if (!done) {
        EXPECT_NE(done.error().message.find(": expected boundaries of an isolated domain"), std::string::npos);
      }
    }
    for (const char* name : {"polytrope", "two_stars"})
      EXPECT_EQ(prepared(name, {}, s)->references(0).empty(), periodic) << name;
    const auto star = prepared("polytrope", {}, s);
    EXPECT_EQ(star->has_exact(1), !periodic);
    EXPECT_TRUE(star->has_exact(0));
  }
  EXPECT_TRUE(prepared("rotating_star", {}, s)->references(0).empty());
  s.gravity = 0.0;  // periodic boundaries without gravity of the gas
  EXPECT_TRUE(make_problem("spheroid").value()->prepare(s));
}

TEST(GravityProblems, OptionsThatDoNotFitAreRefused) {
  for (const auto& [name, option] : {std::pair{"spheroid", "spheroid.polar_radius=0.6"},
                                     {"evrard", "evrard.radius=0.6"},
                                     {"two_stars", "two_stars.radii=[0.3,0.3]"},
                                     {"two_stars", "two_stars.masses=[1,0]"},
                                     {"two_stars", "two_stars.separation=0.9"},
                                     {"gresho", "gresho.mach=1.4"},
                                     {"gresho", "gresho.scale=2"},
                                     {"kepler_disk", "kepler_disk.radius=1"}})
    EXPECT_TRUE(is_refused(name, option)) << option;
}

// Numbers in CGS where code units are expected; in centimetres, too, where the box is.
TEST(GravityProblems, StarsInGramsOrCentimetresAreRefused) {
  const auto is_refused = [](const char* name, const std::vector<std::string>& options, const problem_setting& setting,
                             const std::string& found) {
    auto p = make_problem(name).value();
    config_table table;
    p->describe(table);
    for (const std::string& o : options) table.set(o).value();
    const auto done = p->prepare(setting);
    ASSERT_FALSE(done) << options[0];
    EXPECT_NE(done.error().message.find(found), std::string::npos) << done.error().message;
  };
  problem_setting s = in_gravity(1);
  is_refused("polytrope", {"polytrope.mass=1.99e33"}, s, "polytrope.mass = 1.99e+33: expected code units");
  is_refused("polytrope", {"polytrope.radius=6.957e10"}, s, "polytrope.radius = 6.957e+10: expected code units");
  is_refused("two_stars", {"two_stars.masses=[0.5,9.9e32]"}, s, "two_stars.masses[1] = 9.9e+32: expected code units");
  is_refused("two_stars", {"two_stars.separation=1e11"}, s, "two_stars.separation = 1e+11: expected code units");
  s = in_gravity(1e11);
  s.code_units = {.length_cm = 6.957e10, .mass_g = 1.989e33, .time_s = 1594.0, .known = true};
  is_refused("two_stars", {"two_stars.separation=5e10", "two_stars.radii=[1e10,1e10]"}, s, "a box that is 1.39e+22 cm");
  is_refused("polytrope", {"polytrope.radius=6.957e10"}, s, "divide lengths in centimetres by the unit of [units]");
}

}  // namespace
}  // namespace plx::star
