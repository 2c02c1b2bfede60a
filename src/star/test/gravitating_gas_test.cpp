// Gas under its own gravity against exact solutions: collapses, pulsation, and two stars in orbit. Coarse and short;
// the runs of docs/verification.md are finer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "star/test/gas_run.hpp"

namespace plx::star {
namespace {

using namespace test;

const std::string gravity_on = "gravity.self=true", low_order = "gravity.order=3";

/// Mean density of the cells closer to the origin than `radius`.
double density_within(const gas& g, double radius) {
  const int n = g.mesh.block_size();
  double mass = 0, volume = 0;
  for (const mesh::slot_id b : g.mesh.blocks())
    for (int c = 0; c < g.now.cells(); ++c) {
      const double x = g.mesh.centre(b, 0, c % n), y = g.mesh.centre(b, 1, c / n % n),
                   z = g.mesh.centre(b, 2, c / (n * n));
      if (x * x + y * y + z * z > radius * radius) continue;
      const double cell = std::pow(g.mesh.cell_width(b), 3);
      mass += cell * g.now.block(b)[c], volume += cell;
    }
  return mass / volume;
}

// The same collapse as below on a mesh that is refined where the gas has become 1.5 times as dense, which happens when
// 0.87 of the radius are left.
TEST(GravitatingGas, AColdSphereFallsFreelyWhileItsMeshIsRefined) {
  gas_run run({gravity_on, low_order, "gravity.theta=0.5", "problem.name=spheroid", "spheroid.equatorial_radius=0.8",
               "spheroid.pressure=1e-4", "run.t_end=0.6", "run.dt_max=0.05", "mesh.max_level=1",
               "refinement.density_levels=[0.7]", "refinement.interval=2"});
  const std::size_t coarse = run.sim->state().mesh.block_count();
  const double mass = run.sim->totals()[i_density];
  EXPECT_EQ(coarse, 8U);
  std::size_t fine = 0;
  for (; !run.sim->finished(); fine = run.sim->state().mesh.block_count()) ASSERT_TRUE(run.sim->step());
  const double radius = run.in->problem->references(0.6)[1].value;
  const double found = density_within(run.sim->state(), 0.5 * radius),
               exact = 3 / (4 * std::numbers::pi) / std::pow(radius, 3);
  std::printf("collapse with refinement: %ld steps, %zu blocks, radius %.4f, density %.4f, exact %.4f\n",
              static_cast<long>(run.sim->steps()), fine, radius, found, exact);
  const double kinetic = run.row("energies")[0], exact_kinetic = 0.6 * (1 / radius - 1 / 0.8);
  std::printf("  kinetic %.4f, exact %.4f\n", kinetic, exact_kinetic);
  EXPECT_GT(fine, coarse);
  EXPECT_NEAR(found, exact, 0.04 * exact);
  EXPECT_NEAR(kinetic, exact_kinetic, 0.13 * exact_kinetic);
  EXPECT_NEAR(run.sim->totals()[i_density] + run.sim->left(i_density), mass, 1e-13 * mass);
}

// A cold sphere falls: density in the centre, radius of gyration and kinetic energy are those of the exact solution.
// The coarse mesh smears the surface, which makes the radius larger.
TEST(GravitatingGas, AColdSphereFallsFreely) {
  gas_run run({gravity_on, low_order, "problem.name=spheroid", "spheroid.equatorial_radius=0.8",
               "spheroid.pressure=1e-4", "run.t_end=0.5", "run.dt_max=0.05"});
  const double free_fall = run.in->problem->references(0)[0].value;
  EXPECT_NEAR(free_fall, 0.5 * std::numbers::pi * std::sqrt(0.256), 1e-12);
  const double before = run.row("inertia")[0];
  const auto central_density = [&] {
    const gas& g = run.sim->state();
    double density = 0;
    for (const mesh::slot_id b : g.mesh.blocks())
      for (int c = 0; c < g.now.cells(); ++c) {
        double r2 = 0;
        for (int a = 0, i = c; a < 3; ++a, i /= 8) r2 += std::pow(g.mesh.centre(b, a, i % 8), 2);
        if (r2 < 0.012) density += g.now.block(b)[c] / 8;  // the innermost eight cells
      }
    return density;
  };
  const double density = central_density();
  run.finish();
  const double radius = run.in->problem->references(0.5)[1].value;
  const double found = 0.8 * std::sqrt(run.row("inertia")[0] / before);
  // Exact kinetic energy: what the potential energy, -3/5 G M^2 / r, has lost.
  const double denser = central_density() / density, compressed = std::pow(0.8 / radius, 3);
  const double kinetic = run.row("energies")[0], exact = 0.6 * (1 / radius - 1 / 0.8);
  std::printf("collapse: %ld steps, radius %.4f, exact %.4f; kinetic %.4f, exact %.4f; density %.4f, exact %.4f\n",
              static_cast<long>(run.sim->steps()), found, radius, kinetic, exact, denser, compressed);
  EXPECT_NEAR(denser, compressed, 0.01 * compressed);
  EXPECT_NEAR(found, radius, 0.04 * radius);
  EXPECT_NEAR(kinetic, exact, 0.1 * exact);
}

// Two stars that start with the velocity of the fundamental mode, outward and inward, have the same size after half the
// period. The difference of their sizes leaves out most of what the coarse mesh does to both: it lets the star swell,
// which makes the period longer, by 12, 6 and 3 % with 5.6, 8.4 and 11 cells per radius.
TEST(GravitatingGas, AStarPulsatesWithItsPeriod) {
  double exact = 0;
  const auto sizes = [&](const std::string& pulsation) {
    gas_run run({gravity_on, low_order, "problem.name=polytrope", "polytrope.index=1.5", "polytrope.radius=0.7",
                 "polytrope.atmosphere=1e-5", "polytrope.pulsation=" + pulsation, "run.t_end=1.5", "run.dt_max=0.025"});
    exact = run.in->problem->references(0).back().value;
    std::vector<std::pair<double, double>> all;
    while (!run.sim->finished()) {
      EXPECT_TRUE(run.sim->step());
      const auto moments = run.row("inertia");
      all.emplace_back(run.sim->time(), moments[0] + moments[1] + moments[2]);
    }
    return all;
  };
  const auto out = sizes("0.05"), in = sizes("-0.05");
  const auto size_at = [&](double time) {
    std::size_t i = 1;
    while (i + 1 < in.size() && in[i].first < time) ++i;
    const double share = (time - in[i - 1].first) / (in[i].first - in[i - 1].first);
    return in[i - 1].second + share * (in[i].second - in[i - 1].second);
  };
  double half_period = 0, before = 0, largest = 0;
  for (std::size_t i = 1; i < out.size() && half_period == 0; ++i) {
    const double difference = out[i].second - size_at(out[i].first);
    largest = std::max(largest, difference);
    if (difference < 0) {
      const double share = difference / (difference - before);
      half_period = out[i].first - share * (out[i].first - out[i - 1].first);
    }
    before = difference;
  }
  std::printf("pulsation: %zu steps, half a period %.4f, exact %.4f; largest %.4f\n", out.size(), half_period,
              0.5 * exact, largest);
  EXPECT_GT(half_period, 0.5 * exact);
  EXPECT_LT(half_period, 0.5 * exact * 1.15);
}

// A tenth of an orbit. Separation and phase from the second moments, to which stars that are spheres add the same
// along each axis.
TEST(GravitatingGas, TwoStarsKeepTheirOrbit) {
  gas_run run({gravity_on, low_order, "problem.name=two_stars", "two_stars.separation=1", "two_stars.index=1",
               "two_stars.radii=[0.35,0.35]", "two_stars.atmosphere=1e-5", "mesh.root_blocks=[4,4,2]",
               "mesh.lower=[-1,-1,-0.5]", "mesh.upper=[1,1,0.5]", "run.t_end=0.6"});
  const auto orbit = [&] {
    const auto m = run.row("inertia");
    return std::pair{std::sqrt(std::hypot(m[0] - m[1], 2 * m[3]) / 0.25), 0.5 * std::atan2(2 * m[3], m[0] - m[1])};
  };
  const auto [separation, phase] = orbit();
  const double spin = run.row("rotation")[5];
  EXPECT_NEAR(separation, 1.0, 1e-3);
  EXPECT_NEAR(phase, 0.0, 1e-12);
  EXPECT_NEAR(spin, 0.25, 1e-3);
  run.finish();
  const auto [later, turned] = orbit();
  const double end = run.row("rotation")[5];
  std::printf("two stars: %ld steps, separation %.4f, phase %.4f of %.4f, angular momentum %.5f of %.5f\n",
              static_cast<long>(run.sim->steps()), later, turned, run.sim->time(), end, spin);
  EXPECT_NEAR(later, 1.0, 0.015);
  EXPECT_NEAR(turned, run.sim->time(), 0.015);
  EXPECT_NEAR(end, spin, 1e-3 * spin);
}

// Evrard's collapse up to the bounce: the sum of the energies changes little while a third of it turns into motion.
TEST(GravitatingGas, EvrardsSphereFalls) {
  gas_run run({gravity_on, low_order, "problem.name=evrard", "evrard.radius=0.9", "run.t_end=0.5", "run.dt_max=0.01"});
  const double unit = 1 / 0.9;
  ASSERT_TRUE(run.sim->step());
  const double start = run.sim->totals()[i_energy] + run.sim->totals().back();
  EXPECT_NEAR(start, -0.617 * unit, 0.04 * unit);
  run.finish();
  const double end = run.sim->totals()[i_energy] + run.sim->totals().back();
  std::printf("evrard: %ld steps, total energy %.4f -> %.4f, kinetic %.4f\n", static_cast<long>(run.sim->steps()),
              start, end, run.row("energies")[0]);
  EXPECT_NEAR(end, start, 0.06 * unit);
  // The fine computation in one dimension at 0.5 / 0.9^1.5 of its unit of time.
  EXPECT_NEAR(run.row("energies")[0], 0.195 * unit, 0.02 * unit);
}

}  // namespace
}  // namespace plx::star
