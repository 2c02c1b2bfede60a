#include "star/exact/shocks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "num/quadrature.hpp"

namespace plx::star {
namespace {

constexpr double pi = std::numbers::pi;

// The profile integrated over the sphere from its values alone, by panels that shrink towards the shock.
template <class F>
double sphere_integral(double radius, F&& density) {
  const quadrature_rule rule = gauss_legendre(40);
  double sum = 0, outer = 1;
  for (double inner = 0.99; outer > 0; inner = std::fmax(0, outer - 1.6 * (1 - outer))) {
    sum += integrate(rule, inner * radius, outer * radius, [&](double r) { return 4 * pi * r * r * density(r); });
    outer = inner;
  }
  return sum;
}

// Published energy constants: Kamm & Timmes (2007) for gamma = 1.4, sphere of constant density; the
// value for 5/3 as in textbooks.
TEST(Sedov, EnergyConstantIsThePublishedOne) {
  EXPECT_NEAR(sedov_solution(1.4, 1, 1).alpha(), 0.851072, 5e-7);
  EXPECT_NEAR(sedov_solution(5.0 / 3, 1, 1).alpha(), 0.49359, 1e-5);
}

TEST(Sedov, EnergyAndMassOfTheProfileAreThoseOfTheExplosion) {
  for (const double gamma : {1.05, 1.2, 1.4, 5.0 / 3, 1.9, 1.999, 2.0, 2.5}) {
    const double rho0 = 0.7, energy = 3, t = 0.2;
    const sedov_solution blast(gamma, rho0, energy);
    const double radius = blast.shock_radius(t);
    const double tolerance = std::abs(gamma - 2) < 1e-3 ? 3e-5 : 1e-9;
    EXPECT_NEAR(sphere_integral(radius, [&](double r) { return blast.at(r, t).rho; }) /
                    (4 * pi / 3 * rho0 * std::pow(radius, 3)),
                1, tolerance)
        << gamma;
    const auto energy_density = [&](double r) {
      const radial_state s = blast.at(r, t);
      return 0.5 * s.rho * s.velocity * s.velocity + s.pressure / (gamma - 1);
    };
    EXPECT_NEAR(sphere_integral(radius, energy_density) / energy, 1, tolerance) << gamma;
  }
}

TEST(Sedov, JumpConditionsHoldAtTheShock) {
  for (const double gamma : {1.2, 1.4, 5.0 / 3}) {
    const sedov_solution blast(gamma, 2, 1);
    const double t = 0.3, radius = blast.shock_radius(t);
    const double speed = (blast.shock_radius(t * (1 + 1e-6)) - blast.shock_radius(t * (1 - 1e-6))) / (2e-6 * t);
    EXPECT_NEAR(blast.shock_speed(t), speed, 1e-8 * speed);
    const radial_state s = blast.at(radius * (1 - 1e-12), t);
    // The jump conditions of a strong shock in its frame: mass, momentum, energy.
    EXPECT_NEAR(s.rho * (speed - s.velocity), 2 * speed, 1e-7);
    EXPECT_NEAR(s.pressure + s.rho * std::pow(speed - s.velocity, 2), 2 * speed * speed, 1e-7);
    EXPECT_NEAR(gamma / (gamma - 1) * s.pressure / s.rho + 0.5 * std::pow(speed - s.velocity, 2), 0.5 * speed * speed,
                1e-7);
    EXPECT_EQ(blast.at(radius * (1 + 1e-9), t).rho, 2);
    EXPECT_EQ(blast.at(radius * (1 + 1e-9), t).pressure, 0);
  }
}

// The Euler equations in spherical symmetry, by differences in r and t: an independent check of the whole profile.
TEST(Sedov, ProfileSatisfiesTheEulerEquations) {
  for (const double gamma : {1.2, 1.4, 5.0 / 3}) {
    const sedov_solution blast(gamma, 1, 1);
    const double t = 1, radius = blast.shock_radius(t), h = 1e-5;
    for (const double lambda : {0.2, 0.4, 0.6, 0.8, 0.95}) {
      const double r = lambda * radius;
      const auto d_dt = [&](auto&& f) { return (f(blast.at(r, t + h)) - f(blast.at(r, t - h))) / (2 * h); };
      const auto d_dr = [&](auto&& f) { return (f(blast.at(r + h, t)) - f(blast.at(r - h, t))) / (2 * h); };
      const radial_state s = blast.at(r, t);
      const auto rho = [](const radial_state& q) { return q.rho; };
      const auto u = [](const radial_state& q) { return q.velocity; };
      const auto p = [](const radial_state& q) { return q.pressure; };
      const auto entropy = [&](const radial_state& q) { return std::log(q.pressure) - gamma * std::log(q.rho); };
      EXPECT_NEAR(d_dt(rho) + s.velocity * d_dr(rho) + s.rho * (d_dr(u) + 2 * s.velocity / r), 0, 1e-6);
      EXPECT_NEAR(s.rho * (d_dt(u) + s.velocity * d_dr(u)) + d_dr(p), 0, 1e-6);
      EXPECT_NEAR(d_dt(entropy) + s.velocity * d_dr(entropy), 0, 1e-5);
    }
  }
}

TEST(Sedov, CentreIsAtRestHotAndEmpty) {
  const sedov_solution blast(1.4, 1, 1);
  const radial_state centre = blast.at(0, 1), near = blast.at(1e-3, 1), shock = blast.behind_shock(1);
  EXPECT_EQ(centre.velocity, 0);
  EXPECT_LT(near.rho, 1e-9);
  EXPECT_NEAR(centre.pressure, near.pressure, 1e-12);
  EXPECT_NEAR(centre.pressure / shock.pressure, 0.366, 1e-3);  // the known ratio for gamma = 1.4
}

TEST(Sedov, ScalesWithEnergyDensityAndTime) {
  const sedov_solution unit(1.4, 1, 1), other(1.4, 8, 0.25);
  EXPECT_NEAR(other.shock_radius(2) / unit.shock_radius(1), std::pow(0.25 * 4 / 8, 0.2), 1e-14);
  EXPECT_NEAR(unit.time_at(unit.shock_radius(0.37)), 0.37, 1e-14);
}

}  // namespace
}  // namespace plx::star
