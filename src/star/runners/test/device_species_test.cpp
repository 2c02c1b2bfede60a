// Species on devices: the bits of a run on workers, with refinement, boundaries, additional physics, several localities
// and after a restart on the other.
#include <gtest/gtest.h>

#include "star/test/course_test.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

const std::string open_sides =
    R"(mesh.sides=["zero_gradient","outflow","reflecting","zero_gradient","outflow","reflecting"])";

// A body of one species moves through two others, which leave the domain; the mesh follows it.
const texts mixing{"expressions.centre=[0.12,-0.12,0.12]",
                   "expressions.density=1 + 4*exp(-r^2/0.01)",
                   "expressions.velocity_x=3 + 0.4*sin(7*y)",
                   "expressions.velocity_y=3",
                   "expressions.velocity_z=-3",
                   "expressions.pressure=0.05 + 0.2*exp(-((x+0.2)^2 + (y-0.2)^2 + (z+0.1)^2)/0.01)",
                   R"~(expressions.species=["0.9*exp(-r^2/0.01)","0.1*(1+sin(9*z))*(1-exp(-r^2/0.01))",)~"
                   R"~("1-0.9*exp(-r^2/0.01)-0.1*(1+sin(9*z))*(1-exp(-r^2/0.01))"])~",
                   open_sides,
                   "mesh.root_blocks=[2,2,2]",
                   "mesh.max_level=2",
                   "refinement.gradient_of=[]",
                   "refinement.species=[0,0.5,1]",
                   "refinement.interval=2",
                   "refinement.coarsen_after=1",
                   "refinement.buffer=1",
                   "run.t_end=1",
                   "run.max_steps=12"};

TEST(DeviceSpecies, AMeshThatFollowsThem) {
  compare("expressions", mixing, {}, 2);
  compare("expressions", with(mixing, {"hydro.reconstruction=mp5", "mesh.prolongation=central", "run.max_steps=4"}), {},
          1);
}

TEST(DeviceSpecies, SchemeFull3d) {
  compare("expressions", with(mixing, {"hydro.scheme=full3d", "mesh.max_level=1", "run.max_steps=4"}), {}, 0);
}

TEST(DeviceSpecies, StatesBeyondTheBoundary) {
  compare("expressions",
          {"expressions.density=1 + 0.2*sin(6*(x + y - 2*t))", "expressions.velocity_x=1", "expressions.velocity_y=1",
           "expressions.pressure=1", "expressions.exact=true",
           R"~(expressions.species=["0.5 + 0.4*sin(9*(x - t))","0.5 - 0.4*sin(9*(x - t))"])~",
           R"(mesh.sides=["problem","problem","problem","problem","outflow","outflow"])", "mesh.root_blocks=[2,2,2]",
           "mesh.max_level=1", "refinement.gradient_of=[]", "refinement.species=[1,0.2,0.4]", "refinement.interval=2",
           "run.t_end=1", "run.max_steps=6"},
          {}, 0);
}

// A binary as its evolution needs it: self-gravity, a rotating frame, driving, and species that mark the stars.
TEST(DeviceSpecies, ADrivenBinary) {
  compare("binary",
          {"gravity.self=true",
           "gravity.order=3",
           "binary.masses=[0.6,0.4]",
           "binary.separation=1",
           "binary.tolerance=1e-3",
           R"(binary.matter=["core_envelope","polytrope"])",
           "binary.filling=[0.8,0.95]",
           "binary.species=true",
           "frame.of_problem=true",
           "driving.angular_momentum=0.01",
           "driving.period=6.28",
           "mesh.lower=[-1.5,-1.5,-1.5]",
           "mesh.upper=[1.5,1.5,1.5]",
           "mesh.root_blocks=[2,2,2]",
           "mesh.max_level=1",
           R"(mesh.sides=["zero_gradient","zero_gradient","zero_gradient","zero_gradient","outflow","outflow"])",
           "refinement.gradient_of=[]",
           "refinement.density_levels=[0.1]",
           "refinement.species=[0,0.3,1]",
           "refinement.interval=2",
           "run.t_end=1",
           "run.max_steps=4"},
          {}, 0);
}

TEST(DeviceSpecies, SeveralLocalities) {
  const texts sets = with({"problem.name=expressions"}, with(mixing, {"run.max_steps=11"}));
  expect_same_on_localities(sets, on_device(sets));
}

TEST(DeviceSpecies, ARestartContinuesOnTheOther) { expect_same_after_a_restart("expressions", mixing, 7); }

}  // namespace
}  // namespace plx::star
