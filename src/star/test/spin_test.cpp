// The spin of cells on meshes of several levels: angular momentum is conserved to rounding, with outflow counted; the
// same bits on workers, localities and after a restart.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>

#include "star/state/gas.hpp"
#include "star/test/course_test.hpp"
#include "star/test/gas_run.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

const std::string open_sides =
    "mesh.sides=[\"zero_gradient\",\"zero_gradient\",\"zero_gradient\",\"zero_gradient\",\"outflow\",\"outflow\"]";

const texts of_turning_body = with(turning_body(), {"problem.name=expressions", open_sides, "run.max_steps=12"});

struct turning_ledger {
  std::array<double, 3> start{}, change{}, left{}, of_velocities{};
  int regrids = 0;
  std::int64_t floors = 0;
};

turning_ledger course_of(const texts& sets) {
  const auto in = blast(sets);
  const setup s = in->prepare().value();
  simulation sim(*in, s, workers());
  sim.start();
  const int spin = spin_variable(s.hydro);
  const auto momentum = [&](int a) { return sim.totals().at(static_cast<std::size_t>(spin + a)); };
  const auto of_velocities = [&](int a) { return sim.totals().at(static_cast<std::size_t>(spin + 3 + a)); };
  turning_ledger l;
  for (int a = 0; a < 3; ++a) l.start[a] = momentum(a);
  std::array<double, 3> first{};
  while (!sim.finished()) {
    const std::size_t blocks = sim.state().mesh.block_count();
    if (auto r = sim.step(); !r) {
      ADD_FAILURE() << r.error().message;
      return l;
    }
    if (sim.steps() == 1)
      for (int a = 0; a < 3; ++a) first[a] = of_velocities(a);
    l.regrids += sim.state().mesh.block_count() != blocks ? 1 : 0;
  }
  for (int a = 0; a < 3; ++a) {
    l.left[a] = sim.left(spin + a);
    l.change[a] = momentum(a) + l.left[a] - l.start[a];
    l.of_velocities[a] = of_velocities(a) - first[a];
  }
  l.floors = sim.floors().density + sim.floors().pressure;
  return l;
}

void expect_conserved(const turning_ledger& l) {
  std::printf("angular momentum %.3e %.3e %.3e, left %.1e %.1e %.1e, change %.1e %.1e %.1e; r x s: %.1e %.1e %.1e\n",
              l.start[0], l.start[1], l.start[2], l.left[0], l.left[1], l.left[2], l.change[0], l.change[1],
              l.change[2], l.of_velocities[0], l.of_velocities[1], l.of_velocities[2]);
  for (int a = 0; a < 3; ++a)
    EXPECT_LT(std::abs(l.change[a]), 1e-13 * std::hypot(l.start[0], l.start[1], l.start[2])) << a;
}

TEST(SpinOnMesh, AngularMomentumIsConservedThroughRefinementAndBoundaries) {
  const turning_ledger l = course_of(of_turning_body);
  EXPECT_GE(l.regrids, 2);
  for (int a = 0; a < 3; ++a) EXPECT_GT(std::abs(l.start[a]), 1e-3);
  for (int a = 0; a < 2; ++a) EXPECT_GT(std::abs(l.left[a]), 1e-3);
  expect_conserved(l);
  EXPECT_EQ(l.floors, 0);
}

// Floors of the pressure, which change no momentum.
TEST(SpinOnMesh, AngularMomentumIsConservedWithReflectingWallsAndFloors) {
  texts sets = with(of_turning_body,
                    {"mesh.sides=[\"reflecting\",\"outflow\",\"inflow\",\"zero_gradient\",\"reflecting\","
                     "\"reflecting\"]",
                     "expressions.pressure=0.01 + 0.2*exp(-r^2/0.01)", "hydro.pressure_floor=0.02", "run.max_steps=8"});
  const turning_ledger l = course_of(sets);
  expect_conserved(l);
  EXPECT_GT(l.floors, 100);
}

TEST(SpinOnMesh, AngularMomentumIsConservedWithSelfGravity) {
  const turning_ledger l =
      course_of(with(of_turning_body, {"gravity.self=true", "gravity.constant=5", "run.max_steps=8"}));
  expect_conserved(l);
}

// A point mass at the origin exerts no torque about it.
TEST(SpinOnMesh, AngularMomentumIsConservedAboutAPointMass) {
  const turning_ledger l = course_of(with(of_turning_body, {"gravity.point_mass=3", "gravity.point_mass_softening=0.1",
                                                            "run.max_steps=8", "hydro.flux=hll"}));
  expect_conserved(l);
}

// In a rotating frame the components along x and y turn; that along z does not.
TEST(SpinOnMesh, AngularMomentumIsConservedInARotatingFrame) {
  texts sets = with(of_turning_body, {"frame.omega=1.5", "run.max_steps=8"});
  turning_ledger l = course_of(sets);
  l.change[0] = l.change[1] = 0.0;
  expect_conserved(l);
}

TEST(SpinOnMesh, TheBitsAreTheSameOnWorkersAndLocalities) {
  for (const texts& sets :
       {of_turning_body, with(of_turning_body, {"frame.omega=1.5", "gravity.self=true", "run.max_steps=4"})}) {
    const outcome one = run_on(1, 2, sets);
    ASSERT_EQ(one.error, "");
    ASSERT_GT(one.blocks.size(), 20u);
    expect_same(run_on(1, 1, sets), one);
    expect_same(run_on(1, 4, sets), one);
    for (const unsigned n : {2u, 3u}) expect_same(run_on(n, 1, sets), one);
  }
}

TEST(SpinOnMesh, ARestartContinuesWithTheSameBits) {
  const std::string path = "spin-resume-" + std::to_string(getpid()) + ".h5";
  const texts sets = with(turning_body(), {open_sides}),
              first = with(sets, {"mesh.root_blocks=[2,2,2]", "run.max_steps=5"}),
              all = with(sets, {"mesh.root_blocks=[2,2,2]", "run.max_steps=9"});
  one_run half("expressions", first), next("expressions", all), whole("expressions", all);
  half.sim->start();
  while (!half.sim->finished()) ASSERT_TRUE(half.sim->step());
  whole.sim->start();
  while (!whole.sim->finished()) ASSERT_TRUE(whole.sim->step());
  continue_in(next, half, path);
  std::remove(path.c_str());
  EXPECT_EQ(same_state(*next.sim, *whole.sim), "");
  EXPECT_EQ(same_course(*next.sim, *whole.sim), "");
}

// A wall is the middle of a symmetric flow: the spin is mirrored as an axial vector.
TEST(SpinOnMesh, AWallIsTheMiddleOfASymmetricFlow) {
  const texts flow{"expressions.density=1 + 0.5*exp(-(abs(x)-0.15)^2/0.01 - y^2/0.02)",
                   "expressions.velocity_x=sign(x)*(0.5*cos(9*y) - 0.8)",
                   "expressions.velocity_y=0.6*cos(7*x)*sin(5*z)",
                   "expressions.velocity_z=0.3*cos(7*x)",
                   "hydro.spin=true",
                   "refinement.gradient_of=[]",
                   "mesh.max_level=0",
                   "run.t_end=1",
                   "run.max_steps=6"};
  const std::string rest = "\"outflow\",\"outflow\",\"outflow\",\"outflow\",\"outflow\"]";
  one_run full("expressions", with(flow, {"mesh.root_blocks=[4,2,2]", "mesh.lower=[-1,-0.5,-0.5]",
                                          "mesh.upper=[1,0.5,0.5]", "mesh.sides=[\"outflow\"," + rest})),
      half("expressions", with(flow, {"mesh.root_blocks=[2,2,2]", "mesh.lower=[0,-0.5,-0.5]", "mesh.upper=[1,0.5,0.5]",
                                      "mesh.sides=[\"reflecting\"," + rest}));
  for (one_run* r : {&full, &half}) {
    r->sim->start();
    while (!r->sim->finished()) ASSERT_TRUE(r->sim->step());
  }
  const gas &f = full.sim->state(), &h = half.sim->state();
  for (const mesh::slot_id b : h.mesh.blocks()) {
    mesh::location where = h.mesh.where(b);
    where.x[0] += 2;
    const mesh::slot_id same = f.mesh.find_covering(where);
    for (std::size_t i = 0; i < h.now.stride(); ++i)
      ASSERT_NEAR(h.now.block(b)[i], f.now.block(same)[i], 1e-12) << i / static_cast<std::size_t>(h.now.cells());
  }
}

// Without the option nothing is different; with it, the gas is refused where it cannot be advanced.
TEST(SpinOnMesh, ItIsRefusedWhereItIsNotSupported) {
  EXPECT_EQ(complaint_about({"hydro.spin=true", "hydro.scheme=full3d"}),
            "hydro.spin is true: expected false: it requires hydro.scheme faces");
  EXPECT_EQ(complaint_about({"hydro.spin=true",
                             "mesh.sides=[\"problem\",\"outflow\",\"outflow\",\"outflow\","
                             "\"outflow\",\"outflow\"]"}),
            "mesh.sides[0] = \"problem\": expected hydro.spin = false, found true; the spin beyond this boundary is "
            "not known");
}

}  // namespace
}  // namespace plx::star
