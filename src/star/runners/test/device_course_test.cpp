// A run on a device compared with the same run on the CPU's workers: the same tree, times, totals and values at each
// step.
#include "star/runners/device_course.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "mesh/files/checkpoint.hpp"
#include "star/driver/options.hpp"
#include "star/test/course_test.hpp"

namespace plx::star {
namespace {

using namespace test;

TEST(DeviceCourse, SedovWithRefinement) {
  compare("sedov",
          {"mesh.max_level=2", "mesh.root_blocks=[2,2,2]", "run.max_steps=26", "refinement.interval=4",
           "sedov.centre=[0.11,-0.07,0.19]", "sedov.radius=0.1", "refinement.coarsen_after=1"},
          {}, 4);
}

TEST(DeviceCourse, SodAcrossAxesWithRefinementAndEveryCriterion) {
  compare("sod",
          {"mesh.max_level=2", "mesh.root_blocks=[2,2,2]", "run.max_steps=10", "refinement.interval=3",
           "sod.direction=[1,1,0]", "refinement.gradient_of=[\"rho\",\"press\",\"vel1\"]",
           "refinement.curvature_of=[\"press\",\"vel2\"]", "refinement.density_levels=[0.9]",
           "refinement.regions=[-0.2,0.1,-0.2,0.1,-0.2,0.1,1]", "refinement.coarsen_after=1"},
          {}, 1);
}

TEST(DeviceCourse, SedovWithRefinementAndFull3d) {
  compare("sedov",
          {"hydro.scheme=full3d", "mesh.max_level=2", "mesh.root_blocks=[2,2,2]", "run.max_steps=5",
           "refinement.interval=2", "sedov.centre=[0.11,-0.07,0.19]", "sedov.radius=0.1", "refinement.coarsen_after=1"},
          {}, 1);
}

TEST(DeviceCourse, DenseBodiesAtMach20ThroughRefinementBoundaries) {
  const texts body{
      "mesh.max_level=1",          "mesh.root_blocks=[2,2,2]",
      "moving_body.mach=20",       "moving_body.direction=[1,2,-1]",
      "refinement.interval=2",     "refinement.regions=[0.0,0.3,-0.5,0.5,-0.5,0.5,1]",
      "refinement.gradient_of=[]", R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])"};
  for (const texts& how : {texts{"moving_body.profile=ball", "run.max_steps=8"},
                           texts{"moving_body.profile=star", "run.max_steps=3", "hydro.scheme=full3d"}}) {
    device_outcome seen;
    compare("moving_body", with(body, how), {}, 0, 1, &seen);
    EXPECT_EQ(seen.floors, 0);
    EXPECT_LT(seen.drift, 1e-12);
  }
}

TEST(DeviceCourse, StatesBeyondTheBoundaryAndWalls) {
  compare("double_mach",
          {"mesh.root_blocks=[8,2,1]", "mesh.lower=[0,0,0]", "mesh.upper=[4,1,0.5]", "mesh.max_level=1",
           R"(mesh.sides=["problem","zero_gradient","problem","problem","periodic","periodic"])",
           "refinement.interval=2", "refinement.coarsen_after=1", "run.max_steps=24", "output.history_interval=3"},
          {}, 1);
}

TEST(DeviceCourse, LinearWaveWithRefinedRegion) {
  compare("linear_wave",
          {"mesh.max_level=1", "mesh.root_blocks=[2,2,2]", "run.max_steps=10", "linear_wave.amplitude=1e-3",
           "refinement.regions=[0.0,0.3,0.0,0.3,0.0,0.3,1]", "linear_wave.direction=[1,1,1]"},
          {}, 0);
}

TEST(DeviceCourse, EqualMarksAreReadOnce) {
  const texts sets{"mesh.max_level=1",          "mesh.root_blocks=[2,2,2]",
                   "refinement.gradient_of=[]", "refinement.regions=[-0.4,-0.1,-0.4,-0.1,-0.4,-0.1,1]",
                   "refinement.interval=2",     "run.max_steps=16"};
  compare("sedov", sets, {}, 0);
  one_run device("sedov", on_device(sets));
  device.sim->start();
  while (!device.sim->finished()) ASSERT_TRUE(device.sim->step());
  EXPECT_EQ(device.sim->checks().made, 8);
  EXPECT_EQ(device.sim->checks().plans, 0);
  EXPECT_EQ(device.sim->checks().marks_read, 1);
}

// A steep gas at rest. The fine blocks request coarsening, which happens at the third of three checks with the same
// marks; the coarse ones request refinement; the slopes of prolongation then keep the fine ones.
TEST(DeviceCourse, RequestsOfEqualMarksAreCounted) {
  const texts sets{"mesh.max_level=1",       "mesh.root_blocks=[2,2,2]",         "expressions.density=exp(4*x)",
                   "expressions.pressure=1", "refinement.gradient_of=[\"rho\"]", "refinement.gradient_refine=0.2",
                   "refinement.interval=1",  "refinement.coarsen_after=3",       "run.t_end=1",
                   "run.max_steps=12"};
  compare("expressions", sets, {}, 2);
  one_run device("expressions", on_device(sets));
  device.sim->start();
  EXPECT_EQ(device.sim->state().mesh.block_count(), 64u);
  while (!device.sim->finished()) ASSERT_TRUE(device.sim->step());
  EXPECT_EQ(device.sim->checks().made, 12);
  EXPECT_EQ(device.sim->checks().plans, 2);
  EXPECT_EQ(device.sim->checks().marks_read, 3);  // the first of each mesh
}

TEST(DeviceCourse, UniformMeshToItsEndWithSomeHistoryRows) {
  compare("sedov",
          {"mesh.root_blocks=[2,2,2]", "run.t_end=0.1", "output.history_interval=3", "output.mesh_interval=0.03",
           "sedov.radius=0.2", "mesh.max_level=0"},
          {}, 0);
}

TEST(DeviceCourse, StopsWhenAMeshFileIsDue) {
  one_run device("sedov", on_device({"mesh.root_blocks=[2,2,2]", "mesh.max_level=0", "sedov.radius=0.2",
                                     "run.t_end=0.1", "output.mesh_interval=0.02"}));
  device.sim->start();
  int due = 0, ahead = 0;
  while (!device.sim->finished()) {
    ASSERT_TRUE(device.sim->step());
    const double time = device.sim->time(), before = time - device.sim->dt();
    ahead += device.sim->is_ahead() ? 1 : 0;
    if (std::floor(time / 0.02) == std::floor(before / 0.02)) continue;
    ++due;
    EXPECT_FALSE(device.sim->is_ahead()) << time;
  }
  EXPECT_GE(due, 4);
  EXPECT_GE(ahead, 4);  // otherwise the test checks nothing
}

TEST(DeviceCourse, ConservesMassMomentumAndEnergyOfAPeriodicBlast) {
  const std::string periodic =
      "mesh.sides=[\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\"]";
  one_run device("sedov", on_device({"mesh.max_level=2", "mesh.root_blocks=[2,2,2]", "run.max_steps=24", periodic,
                                     "sedov.radius=0.1", "sedov.centre=[0.4,0.3,-0.2]", "sedov.pressure=1e-3"}));
  device.sim->start();
  const std::vector<double> before = device.sim->totals();
  while (!device.sim->finished()) ASSERT_TRUE(device.sim->step());
  const std::vector<double> after = device.sim->totals();
  EXPECT_LT(std::abs(after[0] - before[0]), 1e-13 * before[0]);
  EXPECT_LT(std::abs(after[4] - before[4]), 1e-13 * before[4]);
  for (int a = 1; a <= 3; ++a) EXPECT_LT(std::abs(after[a]), 1e-13);
  EXPECT_EQ(device.sim->floors().pressure, 0);
}

mesh::checkpoint_state state_of(one_run& r) {
  r.sim->fetch();
  return {"test", r.in->table.toml(), identity_of(r.in->table), r.sim->numbers()};
}

TEST(DeviceCourse, ACheckpointContinuesOnTheOther) {
  const texts sets{"mesh.max_level=2",      "mesh.root_blocks=[2,2,2]",       "run.max_steps=20",
                   "refinement.interval=4", "sedov.centre=[0.11,-0.07,0.19]", "sedov.radius=0.1"};
  one_run whole("sedov", sets);
  whole.sim->start();
  while (!whole.sim->finished()) ASSERT_TRUE(whole.sim->step());
  const std::string path = "device-resume-" + std::to_string(getpid()) + ".h5";
  for (const auto& [first, second] : {std::pair(sets, on_device(sets)), {on_device(sets), sets}}) {
    one_run a("sedov", first), b("sedov", second);
    a.sim->start();
    while (a.sim->steps() < 10 || a.sim->is_ahead()) ASSERT_TRUE(a.sim->step());
    ASSERT_LT(a.sim->steps(), 20);
    const mesh::checkpoint_state state = state_of(a);
    ASSERT_TRUE(mesh::write_checkpoint(path, a.sim->state().mesh, a.sim->state().now, state));
    const auto c = mesh::read_checkpoint(path);
    ASSERT_TRUE(c) << c.error().message;
    ASSERT_TRUE(mesh::same_input(*c, path, identity_of(b.in->table)));  // the device may differ
    mesh::checkpoint other = *c;  // of a program whose variables have another order
    std::swap(other.variables[1], other.variables[2]);
    const auto refused = b.sim->restore(other, path);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("expected the variable 'mom1' at place 2, found 'mom2'"), std::string::npos)
        << refused.error().message;
    mesh::checkpoint without = *c;
    std::erase_if(without.state.numbers, [](const auto& list) { return list.first == "from_floors"; });
    const auto incomplete = b.sim->restore(without, path);
    ASSERT_FALSE(incomplete);
    EXPECT_NE(incomplete.error().message.find("numbers 'from_floors', found 0"), std::string::npos)
        << incomplete.error().message;
    ASSERT_TRUE(b.sim->restore(*c, path));
    b.sim->go_on();
    while (!b.sim->finished()) ASSERT_TRUE(b.sim->step());
    EXPECT_EQ(same_course(*whole.sim, *b.sim), "") << second.back();
    EXPECT_EQ(same_state(*whole.sim, *b.sim), "") << second.back();
  }
  std::remove(path.c_str());
}

TEST(DeviceCourse, ABadCellStopsAtTheLastGoodStateAndIsNamed) {
  const texts sets{"mesh.max_level=1", "mesh.root_blocks=[2,2,2]", "sedov.centre=[0.2,0.2,0.2]", "run.max_steps=30"};
  one_run spoilt("sedov", sets);
  spoilt.sim->start();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(spoilt.sim->step());
  const gas& g = spoilt.sim->state();
  mesh::arena values(g.now.fields(), g.now.block_size());
  values.resize(g.mesh.slot_count());
  for (const mesh::slot_id slot : g.mesh.blocks())
    std::memcpy(values.block(slot), g.now.block(slot), sizeof(double) * values.stride());
  values.block(g.mesh.blocks()[5])[i_energy * 512 + 77] = std::numeric_limits<double>::infinity();
  const std::string path = "device-bad-" + std::to_string(getpid()) + ".h5";
  ASSERT_TRUE(mesh::write_checkpoint(path, g.mesh, values, state_of(spoilt)));
  const auto c = mesh::read_checkpoint(path);
  ASSERT_TRUE(c) << c.error().message;
  std::string said[2];
  for (const int on : {0, 1}) {
    one_run r("sedov", on == 0 ? sets : on_device(sets));
    ASSERT_TRUE(r.sim->restore(*c, path));
    r.sim->go_on();
    const auto stepped = r.sim->step();
    ASSERT_FALSE(stepped);
    said[on] = stepped.error().message;
    EXPECT_EQ(r.sim->steps(), 3);
    r.sim->fetch();
    for (const mesh::slot_id slot : g.mesh.blocks())
      EXPECT_EQ(std::memcmp(r.sim->state().now.block(r.sim->state().mesh.blocks()[g.mesh.position(slot)]),
                            values.block(slot), sizeof(double) * values.stride()),
                0);
  }
  EXPECT_EQ(said[0], said[1]);
  EXPECT_NE(said[1].find("floors cannot repair, in block level"), std::string::npos) << said[1];
  std::remove(path.c_str());
}

TEST(DeviceCourse, UnsupportedInputIsRefusedInOneLine) {
  EXPECT_NE(complaint_about({"run.device=tpu"}).find("cpu, cuda, emulated"), std::string::npos);
  EXPECT_NE(complaint_about({"run.devices=2"}).find("unknown key 'run.devices'; did you mean 'run.device'"),
            std::string::npos)
      << complaint_about({"run.devices=2"});  // a locality has one device
  auto in = input::from_text("[problem]\nname = \"sod\"\n", "t", {"run.device=cuda"}).value();
  const setup s = in->prepare().value();
  simulation sim(*in, s, workers());
  const auto taken = sim.take_device();
  if (taken) return;  // a device exists
  EXPECT_EQ(taken.error().message.find("run.device = \"cuda\": "), 0u) << taken.error().message;
  EXPECT_EQ(taken.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace plx::star
