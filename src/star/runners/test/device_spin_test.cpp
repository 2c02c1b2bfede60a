// The spin of cells on devices: the bits of a run on workers, with refinement, boundaries, additional physics, several
// localities and after a restart on the other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "star/test/course_test.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

// A dense body that rotates about an oblique axis and moves obliquely, partly out of the domain.
const texts turning{"expressions.centre=[0.05,-0.1,0.03]",
                    "expressions.density=1 + 5*exp(-((x-0.05)^2 + 2*(y+0.1)^2 + 1.3*(z-0.03)^2)/0.02)",
                    "expressions.velocity_x=1.1 - 6*exp(-r^2/0.03)*(y+0.1) + 2*exp(-r^2/0.03)*(z-0.03)",
                    "expressions.velocity_y=0.8 + 6*exp(-r^2/0.03)*(x-0.05)",
                    "expressions.velocity_z=-0.7 - 2*exp(-r^2/0.03)*(x-0.05)",
                    "expressions.pressure=1",
                    "hydro.spin=true",
                    R"(mesh.sides=["zero_gradient","reflecting","inflow","zero_gradient","outflow","reflecting"])",
                    "refinement.gradient_of=[\"rho\"]",
                    "refinement.gradient_refine=0.3",
                    "refinement.gradient_coarsen=0.1",
                    "refinement.interval=2",
                    "refinement.coarsen_after=1",
                    "refinement.buffer=1",
                    "refinement.regions=[-0.1,0.15,-0.25,0.1,-0.2,0.2,1]",
                    "mesh.root_blocks=[2,2,2]",
                    "mesh.max_level=2",
                    "run.t_end=1",
                    "run.max_steps=8"};
const std::string species = R"~(expressions.species=["exp(-r^2/0.02)","1-exp(-r^2/0.02)"])~";

TEST(DeviceSpin, AMeshThatFollowsATurningBody) {
  compare("expressions", turning, {}, 2);
  compare("expressions", with(turning, {species, "hydro.reconstruction=plm", "run.max_steps=3"}), {}, 0);
}

// A block of 16^3 cells has eight boxes.
TEST(DeviceSpin, BlocksOfSeveralBoxesInARotatingFrameWithGravity) {
  compare("expressions",
          with(turning,
               {R"(mesh.sides=["zero_gradient","zero_gradient","zero_gradient","zero_gradient","outflow","outflow"])",
                "mesh.block_size=16", "mesh.max_level=1", "refinement.gradient_of=[]",
                "refinement.regions=[0.1,0.2,0.1,0.2,0.1,0.2,1]", "frame.omega=1.5", "gravity.self=true",
                "gravity.constant=5", "run.max_steps=2"}),
          {}, 0);
}

TEST(DeviceSpin, SeveralLocalities) {
  const texts sets = with({"problem.name=expressions"}, with(turning, {species, "run.max_steps=5"}));
  const outcome cpu = run_on(1, 2, sets);
  ASSERT_EQ(cpu.error, "");
  ASSERT_GT(cpu.blocks.size(), 20u);
  for (const unsigned n : {1u, 2u, 3u}) {
    SCOPED_TRACE(n);
    expect_same(run_on(n, 1, on_device(sets)), cpu);
  }
}

TEST(DeviceSpin, ARestartContinuesOnTheOther) {
  const std::string path = "device-spin-resume-" + std::to_string(getpid()) + ".h5";
  one_run whole("expressions", turning);
  whole.sim->start();
  while (!whole.sim->finished()) ASSERT_TRUE(whole.sim->step());
  const texts half = with(turning, {"run.max_steps=5"});
  for (const auto& [first, second] : {std::pair(half, on_device(turning)), {on_device(half), turning}}) {
    one_run a("expressions", first), b("expressions", second);
    a.sim->start();
    while (!a.sim->finished()) ASSERT_TRUE(a.sim->step());
    a.sim->fetch();
    ASSERT_NO_FATAL_FAILURE(continue_in(b, a, path));
    EXPECT_EQ(same_course(*whole.sim, *b.sim), "") << second.back();
    EXPECT_EQ(same_state(*whole.sim, *b.sim), "") << second.back();
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace plx::star
