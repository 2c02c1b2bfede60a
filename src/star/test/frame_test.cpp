// A rotating mesh: in the inertial frame the gas moves as on a mesh at rest.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

std::vector<std::string> turning(const std::string& omega, const std::vector<std::string>& more) {
  std::vector<std::string> sets{"frame.omega=" + omega, "refinement.gradient_of=[]",
                                "refinement.regions=[-0.2,0.15,-0.25,0.1,-0.2,0.2,1]", "mesh.max_level=1",
                                "mesh.sides=[\"zero_gradient\",\"zero_gradient\",\"zero_gradient\",\"zero_gradient\","
                                "\"zero_gradient\",\"zero_gradient\"]"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

struct sums {
  double mass = 0, momentum[3] = {}, energy = 0, position[3] = {}, spin = 0;  // of the density above 1
};

/// Gas at rest with density and pressure 1, and a clump in it; steps to the end, and sums over all cells.
sums run_clump(const std::vector<std::string>& sets, double contrast, const std::array<double, 3>& velocity,
               simulation** out = nullptr) {
  static std::unique_ptr<input> in;
  static std::unique_ptr<simulation> sim;
  static runtime rt({.workers = 2});
  in = blast(sets);
  const setup s = in->prepare().value();
  sim = std::make_unique<simulation>(*in, s, rt);
  sim->start();
  auto& g = const_cast<gas&>(sim->state());
  const int n = g.mesh.block_size(), cells = g.now.cells();
  for (const mesh::slot_id b : g.mesh.blocks())
    for (int c = 0; c < cells; ++c) {
      double* u = g.now.block(b) + c;
      const double x = g.mesh.centre(b, 0, c % n) - 0.1, y = g.mesh.centre(b, 1, c / n % n) + 0.05,
                   z = g.mesh.centre(b, 2, c / (n * n));
      const double extra = contrast * std::exp(-(x * x + y * y + z * z) / 0.003);
      u[0] = 1.0 + extra;
      for (int a = 0; a < 3; ++a) u[(1 + a) * cells] = extra * velocity[static_cast<std::size_t>(a)];
      u[4 * cells] =
          2.5 + 0.5 * (u[cells] * u[cells] + u[2 * cells] * u[2 * cells] + u[3 * cells] * u[3 * cells]) / u[0];
      u[5 * cells] = std::pow(2.5, 1.0 / 1.4);
    }
  while (!sim->finished())
    if (auto r = sim->step(); !r) {
      ADD_FAILURE() << r.error().message;
      break;
    }
  if (out != nullptr) *out = sim.get();
  sums all;
  for (const mesh::slot_id b : g.mesh.blocks())
    for (int c = 0; c < cells; ++c) {
      const double* u = g.now.block(b) + c;
      const double volume = std::pow(g.mesh.cell_width(b), 3);
      const double x[3] = {g.mesh.centre(b, 0, c % n), g.mesh.centre(b, 1, c / n % n),
                           g.mesh.centre(b, 2, c / (n * n))};
      all.mass += volume * u[0], all.energy += volume * u[4 * cells];
      for (int a = 0; a < 3; ++a)
        all.momentum[a] += volume * u[(1 + a) * cells], all.position[a] += volume * (u[0] - 1.0) * x[a];
    }
  return all;
}

// The fluxes of a uniform gas at rest through moving faces cancel.
TEST(RotatingFrame, AGasAtRestStaysAtRest) {
  for (const char* more : {"hydro.scheme=faces", "hydro.scheme=full3d", "hydro.reconstruction=mp5"}) {
    simulation* sim = nullptr;
    run_clump(turning("0.8", {more, "run.max_steps=4"}), 0.0, {}, &sim);
    const gas& g = sim->state();
    const int cells = g.now.cells();
    for (const mesh::slot_id b : g.mesh.blocks())
      for (int c = 0; c < cells; ++c) {
        const double* u = g.now.block(b) + c;
        ASSERT_NEAR(u[0], 1.0, 1e-13) << more;
        for (int a = 1; a < 4; ++a) ASSERT_NEAR(u[a * cells], 0.0, 1e-13) << more;
        ASSERT_NEAR(u[4 * cells], 2.5, 1e-12) << more;
      }
  }
}

// A clump that moves obliquely through the refinement: as in a mesh at rest, in turned coordinates.
TEST(RotatingFrame, AMovingClumpIsWhereItShouldBe) {
  const std::array<double, 3> v{-0.7, 0.5, 0.3};
  const std::vector<std::string> sets{"run.t_end=0.05", "run.max_steps=100"};
  for (const std::string scheme : {"hydro.scheme=faces", "hydro.scheme=full3d"}) {
    std::vector<std::string> both = sets;
    both.push_back(scheme);
    const sums fixed = run_clump(turning("0", both), 3.0, v), turned = run_clump(turning("4", both), 3.0, v);
    const double c = std::cos(4 * 0.05), s = std::sin(4 * 0.05);
    const auto expect = [&](const double* at_rest, const double* in_frame, double tolerance) {
      EXPECT_NEAR(in_frame[0], c * at_rest[0] + s * at_rest[1], tolerance) << scheme;
      EXPECT_NEAR(in_frame[1], c * at_rest[1] - s * at_rest[0], tolerance) << scheme;
      EXPECT_NEAR(in_frame[2], at_rest[2], tolerance) << scheme;
    };
    expect(fixed.momentum, turned.momentum, 2e-12);
    expect(fixed.position, turned.position, 2e-5);
    EXPECT_GT(std::hypot(fixed.momentum[0], fixed.momentum[1]), 1e-3);
  }
}

// A part of the mesh, and a device, compute the same bits.
TEST(RotatingFrame, TheBitsAreTheSameOnWorkersLocalitiesAndADevice) {
  std::vector<std::string> sets = turning(
      "2", {"run.max_steps=4", "refinement.regions=[]", "mesh.max_level=2", "refinement.gradient_of=[\"press\"]"});
  for (const std::string scheme : {"hydro.scheme=faces", "hydro.scheme=full3d"}) {
    sets.push_back(scheme);
    const outcome one = run_on(1, 2, sets);
    ASSERT_EQ(one.error, "");
    expect_same(run_on(2, 2, sets), one);
    const char* device = std::getenv("PLX_STAR_TEST_DEVICE");
    sets.push_back(std::string("run.device=") + (device != nullptr ? device : "emulated"));
    for (const unsigned n : {1u, 2u}) expect_same(run_on(n, 2, sets), one);
    sets.pop_back();
  }
}

TEST(RotatingFrame, BoundariesAtRestAreRefused) {
  EXPECT_EQ(
      blast({"frame.omega=1"})->prepare().error().message,
      "frame.omega: expected the boundaries \"zero_gradient\" along x and y, found another kind in mesh.sides[0]");
  EXPECT_EQ(
      blast(turning("1",
                    {"mesh.sides=[\"zero_gradient\",\"zero_gradient\",\"zero_gradient\",\"zero_gradient\",\"outflow\","
                     "\"inflow\"]"}))
          ->prepare()
          .error()
          .message,
      "frame.omega: expected a boundary without a given state along z, such as \"outflow\", found \"inflow\" in "
      "mesh.sides[5]");
}

}  // namespace
}  // namespace plx::star
