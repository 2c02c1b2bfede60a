// A point mass: the orbit of gas about it, the potential energy and the angular momentum in the history, and the same
// bits on any processors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "star/sources/source_terms.hpp"
#include "star/test/gas_run.hpp"

namespace plx::star {
namespace {

using namespace test;
using gravity::angular_momentum_module;
using gravity::point_mass_module;

TEST(PointMass, ThePullIsTheGradientOfThePotential) {
  const point_mass m{2.5, {}, 0.1};
  for (const double r : {0.01, 0.3, 2.0}) {
    const double x = 0.6 * r, z = -0.8 * r, h = 1e-6;
    EXPECT_NEAR(m.pull(x, 0, z) * x, (m.potential(x - h, 0, z) - m.potential(x + h, 0, z)) / (2 * h), 1e-6);
    EXPECT_NEAR(m.pull(x, 0, z) * z, (m.potential(x, 0, z - h) - m.potential(x, 0, z + h)) / (2 * h), 1e-6);
  }
  EXPECT_DOUBLE_EQ((point_mass{2.0, {}, 0.0}.potential(0, 3, 4)), -0.4);
}

// Both modules.
outcome run_near_a_mass(unsigned n, unsigned workers, std::vector<std::string> sets) {
  sets.insert(sets.begin(), {"mesh.max_level=1", "run.max_steps=3"});  // with a regrid after step 2
  const point_mass_module pull({0.5, {0.05, -0.02, 0.1}, 0.05});
  const angular_momentum_module momentum;
  return run_on(n, workers, sets, [](simulation&) {}, nullptr, {&momentum, &pull});
}

TEST(PointMass, TheBitsAreTheSameOnWorkersLocalitiesAndADevice) {
  const outcome one = run_near_a_mass(1, 2, {});
  ASSERT_EQ(one.error, "");
  EXPECT_NE(one.totals, run_on(1, 2, {"mesh.max_level=1", "run.max_steps=3"}).totals);
  expect_same(run_near_a_mass(1, 1, {}), one);
  expect_same(run_near_a_mass(2, 2, {}), one);
  const char* device = std::getenv("PLX_STAR_TEST_DEVICE");
  const std::string on = std::string("run.device=") + (device != nullptr ? device : "emulated");
  for (const unsigned n : {1u, 2u}) expect_same(run_near_a_mass(n, 2, {on}), one);
}

// The columns of the history are sums over the final state: those of the analysis, and of the potential at cells.
TEST(PointMass, TheHistoryHasEnergyAndAngularMomentum) {
  gas_run run({"problem.name=expressions", "expressions.density=1 + 0.3*x*y", "expressions.velocity_x=0.2*y - z",
               "expressions.velocity_y=x*z", "expressions.velocity_z=0.3", "gravity.point_mass=2",
               "gravity.point_mass_position=[0.1,0,0]", "gravity.point_mass_softening=0.3", "mesh.max_level=1",
               "refinement.regions=[0,0.5,0,0.5,0,0.5,1]", "refinement.gradient_of=[]", "run.max_steps=2"});
  run.finish();
  EXPECT_EQ(sum_names(run.s.modules), (std::vector<std::string>{"angular_momentum_x", "angular_momentum_y",
                                                                "angular_momentum_z", "point_mass_energy"}));
  const std::vector<double> totals = run.sim->totals(), rotation = run.row("rotation");
  for (int a = 0; a < 3; ++a) {
    EXPECT_NEAR(totals[6 + a], rotation[3 + a], 1e-15);
    EXPECT_GT(std::abs(totals[6 + a]), 1e-4);
  }
  double energy = 0;
  const gas& g = run.sim->state();
  const int n = g.mesh.block_size();
  for (const mesh::slot_id b : g.mesh.blocks())
    for (int c = 0; c < g.now.cells(); ++c)
      energy -= 2 * g.now.block(b)[c] * std::pow(g.mesh.cell_width(b), 3) /
                std::sqrt(std::pow(g.mesh.centre(b, 0, c % n) - 0.1, 2) + std::pow(g.mesh.centre(b, 1, c / n % n), 2) +
                          std::pow(g.mesh.centre(b, 2, c / (n * n)), 2) + 0.09);
  EXPECT_NEAR(totals[9], energy, 1e-13);
}

TEST(PointMass, WithoutSofteningItIsRefused) {
  EXPECT_EQ(blast({"gravity.point_mass=1"})->prepare().error().message,
            "gravity.point_mass_softening = 0: expected a length above 0, such as the width of two cells");
}

// A disk in equilibrium about the point mass, through a refinement boundary, for a quarter of an orbit.
TEST(PointMass, ADiskStaysInOrbit) {
  gas_run run({"problem.name=kepler_disk", "mesh.root_blocks=[4,4,2]", "mesh.lower=[-2,-2,-1]", "mesh.upper=[2,2,1]",
               "gravity.point_mass=1", "gravity.point_mass_softening=0.2", "kepler_disk.sound_speed=0.25",
               "kepler_disk.exponent=1.85", "run.t_end=1.6"});
  const std::vector<double> before = run.row("rotation"), energies = run.row("energies");
  run.finish();
  const std::vector<double> after = run.row("rotation"), end = run.row("energies");
  std::printf("disk: %ld steps, L %.6g -> %.6g, mass %.6g -> %.6g, kinetic %.6g -> %.6g, floors %ld\n",
              static_cast<long>(run.sim->steps()), before[5], after[5], before[6], after[6], energies[0], end[0],
              static_cast<long>(run.sim->floors().density));
  EXPECT_NEAR(after[5] / before[5], 1.0, 5e-3);
  EXPECT_NEAR(after[6] / before[6], 1.0, 1e-3);
  EXPECT_NEAR(end[0] / energies[0], 1.0, 0.02);
}

}  // namespace
}  // namespace plx::star
