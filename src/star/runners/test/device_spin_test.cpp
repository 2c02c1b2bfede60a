// The spin of cells on devices: the bits of a run on workers, with refinement, boundaries, additional physics, several
// localities and after a restart on the other.
#include <gtest/gtest.h>

#include "star/test/course_test.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

const texts turning = with(
    turning_body(), {R"(mesh.sides=["zero_gradient","reflecting","inflow","zero_gradient","outflow","reflecting"])",
                     "mesh.root_blocks=[2,2,2]", "run.max_steps=8"});
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
  expect_same_on_localities(sets, on_device(sets));
}

TEST(DeviceSpin, ARestartContinuesOnTheOther) { expect_same_after_a_restart("expressions", turning, 5); }

}  // namespace
}  // namespace plx::star
