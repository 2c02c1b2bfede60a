// Tracers against exact motions, through refinement boundaries: a uniform shift, solid rotation, a mesh that rotates
// with the gas; where they are placed; the same bits on any number of localities and after a restart.
#include "star/tracers/tracers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "star/test/course_test.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;
using testing::HasSubstr;

// A box of edge 2 that is refined off its middle, with gas of these velocities.
std::vector<std::string> gas_with(const std::vector<std::string>& more) {
  std::vector<std::string> sets{"problem.name=expressions",
                                "mesh.root_blocks=[2,2,2]",
                                "mesh.lower=[-1,-1,-1]",
                                "mesh.upper=[1,1,1]",
                                "mesh.max_level=1",
                                "refinement.gradient_of=[]",
                                "refinement.regions=[-0.3,0.6,-0.2,0.5,-0.4,0.4,1]",
                                "tracers.number=200",
                                "run.max_steps=12"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

const std::string periodic = R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])";

struct run_of {
  std::unique_ptr<input> in;
  setup s;
  runtime rt{{.workers = 2}};
  std::unique_ptr<simulation> sim;

  explicit run_of(const std::vector<std::string>& sets) : in(blast(sets)), s(in->prepare().value()) {
    sim = std::make_unique<simulation>(*in, s, rt);
    sim->start();
  }
  std::vector<tracer> points() const { return sim->points().all(); }
};

TEST(Tracers, AUniformShiftThroughRefinementBoundariesIsExact) {
  run_of run(
      gas_with({periodic, "expressions.density=1+0.3*sin(pi*x)", "expressions.velocity_x=1.5",
                "expressions.velocity_y=-0.75", "expressions.velocity_z=0.25", "run.max_steps=80", "run.t_end=9"}));
  const std::vector<tracer> first = run.points();
  std::size_t changes = 0;
  const auto level = [&](const tracer& t) {
    return t.place[0] > -0.5 && t.place[0] < 0.5 && std::abs(t.place[1]) < 0.5 && std::abs(t.place[2]) < 0.5;
  };
  while (!run.sim->finished()) {
    const std::vector<tracer> before = run.points();
    ASSERT_TRUE(run.sim->step());
    for (std::size_t i = 0; i < before.size(); ++i) changes += level(before[i]) != level(run.points()[i]);
  }
  EXPECT_GT(changes, 20u);
  const double t = run.sim->time(), velocity[3] = {1.5, -0.75, 0.25};
  EXPECT_GT(t, 0.5);
  for (std::size_t i = 0; i < first.size(); ++i) {
    ASSERT_TRUE(run.points()[i].inside);
    for (std::size_t a = 0; a < 3; ++a) {
      const double off = run.points()[i].place[a] - first[i].place[a] - velocity[a] * t;
      EXPECT_NEAR(off - 2.0 * std::round(0.5 * off), 0.0, 1e-12) << i;
      EXPECT_LE(std::abs(run.points()[i].place[a]), 1.0);
    }
  }
}

// In the fixed velocities of a solid rotation, which are linear: only the steps in time have an error, of second order.
TEST(Tracers, SolidRotationThroughRefinementBoundariesIsOfSecondOrder) {
  run_of run(gas_with({"expressions.velocity_x=-y", "expressions.velocity_y=x", "tracers.placement=volume"}));
  double errors[2] = {};
  for (const int k : {0, 1}) {
    tracers all({.number = 200, .placement = "volume"}, run.s.hydro);
    const gas& g = run.sim->state();
    const int steps = 64 << k;
    const double dt = 2.0 * std::numbers::pi / steps;
    std::vector<tracer> first;
    run.rt.run([&] {
      ASSERT_TRUE(all.place(g, run.in->problem.get()));
      first = all.all();
      for (int i = 0; i < steps; ++i) {
        all.begin_step(g, run.sim->scratch(), 0.0);
        all.end_step(g, run.sim->scratch(), 0.0, dt);
      }
    });
    std::size_t count = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const vector &a = first[i].place, &b = all.all()[i].place;
      if (std::hypot(a[0], a[1]) > 0.8 || std::abs(a[2]) > 0.8)
        continue;  // at the boundaries velocities are not linear
      ++count;
      EXPECT_EQ(a[2], b[2]);
      errors[k] = std::max(errors[k], std::hypot(a[0] - b[0], a[1] - b[1]));
    }
    EXPECT_GT(count, 60u);
  }
  std::printf("solid rotation: %g, %g\n", errors[0], errors[1]);
  EXPECT_LT(errors[0], 0.01);
  EXPECT_NEAR(errors[0] / errors[1], 4.0, 0.3);
}

// The gas rotates with the mesh.
TEST(Tracers, InTheRotatingFrameTheyRestOnTheMesh) {
  run_of run(
      gas_with({"mesh.sides=[\"zero_gradient\",\"zero_gradient\",\"zero_gradient\",\"zero_gradient\","
                "\"zero_gradient\",\"zero_gradient\"]",
                "frame.omega=0.7", "expressions.velocity_x=-0.7*y", "expressions.velocity_y=0.7*x",
                "expressions.pressure=1000+0.245*(x^2+y^2)", "run.max_steps=4", "tracers.placement=volume"}));
  const std::vector<tracer> first = run.points();
  while (!run.sim->finished()) ASSERT_TRUE(run.sim->step());
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (std::hypot(first[i].place[0], first[i].place[1], first[i].place[2]) > 0.8) continue;
    for (std::size_t a = 0; a < 3; ++a)
      EXPECT_NEAR(run.points()[i].place[a], first[i].place[a], 1e-3 * run.sim->time()) << i;
  }
}

TEST(Tracers, EqualMassesOfGas) {
  run_of run(gas_with({"expressions.density=x > 0 ? 3 : 1", "tracers.number=400"}));
  const std::vector<tracer> all = run.points();
  EXPECT_EQ(all.size(), 400u);
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const tracer& t) { return t.place[0] > 0.0; }), 300);
  EXPECT_EQ(all[0].star, 0);
  EXPECT_EQ(all[0].species, -1);
}

TEST(Tracers, TheSameNumberInEachStar) {
  run_of run({"problem.name=two_stars", "mesh.lower=[-1,-1,-1]", "mesh.upper=[1,1,1]", "two_stars.masses=[0.9,0.1]",
              "two_stars.radii=[0.15,0.15]", "mesh.max_level=1", "two_stars.separation=0.5", "gravity.self=true",
              "refinement.gradient_of=[\"rho\"]", "tracers.number=100", "tracers.placement=stars"});
  const std::vector<tracer> all = run.points();
  ASSERT_EQ(all.size(), 100u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_LT(std::hypot(all[i].place[0] - (i < 50 ? 0.05 : -0.45), all[i].place[1], all[i].place[2]), 0.15 + 0.02)
        << i;
    EXPECT_EQ(all[i].star, i < 50 ? 1 : 2);
  }
}

TEST(Tracers, AStarWithoutCellsIsNamed) {
  try {
    run_of run({"problem.name=two_stars", "mesh.lower=[-1,-1,-1]", "mesh.upper=[1,1,1]", "mesh.max_level=0",
                "two_stars.masses=[0.9,0.1]", "two_stars.radii=[0.15,0.01]", "two_stars.separation=0.5",
                "gravity.self=true", "tracers.number=100", "tracers.placement=stars"});
    ADD_FAILURE();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("tracers.placement = \"stars\": no cell has its centre in star 2; expected"));
  }
}

// A state that is not the initial one: none of its stars are known.
TEST(Tracers, WithoutTheInitialStateNoStarIsKnown) {
  run_of run({"problem.name=two_stars", "mesh.lower=[-1,-1,-1]", "mesh.upper=[1,1,1]", "two_stars.radii=[0.15,0.15]",
              "two_stars.separation=0.5", "gravity.self=true", "tracers.number=100"});
  const auto in_a_star = [](const tracer& t) { return t.star > 0; };
  const std::vector<tracer> first = run.points();
  EXPECT_GT(std::count_if(first.begin(), first.end(), in_a_star), 80);
  tracers again({.number = 100}, run.s.hydro);
  run.rt.run([&] { ASSERT_TRUE(again.place(run.sim->state(), nullptr)); });
  EXPECT_EQ(std::count_if(again.all().begin(), again.all().end(), in_a_star), 0);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(again.all()[i].place, first[i].place);
}

TEST(Tracers, TheyLeaveThroughOpenBoundariesAndRest) {
  run_of run(gas_with({"expressions.velocity_x=2", "run.t_end=0.6", "run.max_steps=0"}));
  const std::vector<tracer> first = run.points();
  while (!run.sim->finished()) ASSERT_TRUE(run.sim->step());
  std::size_t left = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const tracer now = run.points()[i];
    left += now.inside ? 0 : 1;
    EXPECT_EQ(now.inside, first[i].place[0] + 1.2 < 1.0) << first[i].place[0];
    if (!now.inside) {
      EXPECT_LT(now.place[0], 1.2);
    }
  }
  EXPECT_GT(left, 50u);
  const std::string table = run.rt.run(
      [&] { return run.sim->points().table({}, run.sim->state(), run.s.hydro, run.sim->scratch(), 7, 0.5); });
  EXPECT_THAT(table, HasSubstr("step,time,tracer,star,species,x,y,z,velocity_x,velocity_y,velocity_z\n7,0.5,0,0,-1,"));
  EXPECT_THAT(table, HasSubstr("nan"));
}

// A blast that moves through blocks of two localities and more, with regrids. Restarts: tests/cli.
TEST(Tracers, TheBitsAreTheSameOnLocalitiesDevicesAndAfterARestart) {
  const std::vector<std::string> sets{"tracers.number=300", "run.max_steps=8"};
  const outcome one = run_on(1, 1, sets);
  EXPECT_EQ(one.error, "");
  for (const unsigned n : {2u, 3u}) expect_same(run_on(n, 2, sets), one);
  for (const unsigned n : {1u, 2u}) expect_same(run_on(n, 2, on_device(sets)), one);

  run_of run(sets);
  ASSERT_TRUE(run.sim->step());
  tracers again(run.in->tracers, run.s.hydro);
  ASSERT_TRUE(again.restore(run.sim->points().numbers()));
  EXPECT_EQ(again.numbers(), run.sim->points().numbers());
  EXPECT_FALSE(again.restore({1.0, 2.0}));
}

TEST(Tracers, MotionThatTheyCannotFollowIsRefused) {
  const auto refused = [](const std::vector<std::string>& sets, const char* why) {
    const auto in = blast(sets);
    const auto made = in->prepare();
    ASSERT_FALSE(made) << why;
    EXPECT_THAT(made.error().message, HasSubstr(why));
    EXPECT_THAT(made.error().message, HasSubstr("expected"));
  };
  refused({"tracers.number=10", "tracers.placement=stars"}, "a problem with stars");
  refused({"output.series=[{kind=\"tracers\",every_steps=1}]"}, "tracers.number above 0");
}

}  // namespace
}  // namespace plx::star
