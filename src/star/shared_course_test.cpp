// Blocks divided between devices and the CPU's workers: any division gives the bits of the CPU's run.
#include "star/shared_course.hpp"

#include <gtest/gtest.h>

#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/error.hpp"
#include "star/course_test.hpp"

namespace plx::star {
namespace {

using namespace test;

const texts blast{"mesh.max_level=2",          "mesh.root_blocks=[2,2,2]",       "run.max_steps=4",
                  "refinement.interval=3",     "sedov.centre=[0.11,-0.07,0.19]", "sedov.radius=0.1",
                  "refinement.coarsen_after=1"};

TEST(SharedCourse, ADeviceAndTheWorkers) { compare("sedov", blast, {"run.device_share=0.6"}, 1, 2); }

TEST(SharedCourse, SeveralDevices) {
  if (tested() != "emulated") GTEST_SKIP() << "needs three devices";
  compare("sedov", blast, {"run.devices=3"}, 1, 2);
}

TEST(SharedCourse, SeveralDevicesAndTheWorkers) {
  if (tested() != "emulated") GTEST_SKIP() << "needs two devices";
  compare("sedov", blast, {"run.devices=2", "run.device_share=0.7"}, 1, 2);
}

TEST(SharedCourse, TheWorkersAlone) { compare("sedov", blast, {"run.device_share=0"}, 1, 2); }

TEST(SharedCourse, Full3dWithGhostsAtEdgesAndCorners) {
  compare("sedov",
          {"hydro.scheme=full3d", "mesh.max_level=1", "mesh.root_blocks=[2,2,2]", "run.max_steps=3",
           "refinement.interval=2", "sedov.centre=[0.11,-0.07,0.19]", "sedov.radius=0.1",
           "mesh.sides=[\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\"]"},
          {"run.device_share=0.5"}, 0, 2);
}

TEST(SharedCourse, TwoStagesAndInflow) {
  compare("sod",
          {"mesh.max_level=1", "mesh.root_blocks=[2,2,2]", "run.max_steps=6", "refinement.interval=2",
           "hydro.integrator=rk2", "hydro.reconstruction=plm", "sod.direction=[1,1,0]"},
          {"run.device_share=0.4"}, 0, 2);
}

TEST(SharedCourse, SharesByMeasuredRatesChangeNothingElse) {
  texts sets = blast;
  sets[0] = "mesh.max_level=0";
  sets[2] = "run.max_steps=70";  // more than three measurements
  compare("sedov", sets, {"run.device_share=auto"}, 0, 2);
}

TEST(SharedCourse, ReportsTheSharesOfBlocks) {
  one_run r("sedov",
            on_device({"mesh.max_level=0", "mesh.root_blocks=[2,2,2]", "run.max_steps=3", "run.device_share=0.75"}));
  r.sim->start();
  while (!r.sim->finished()) ASSERT_TRUE(r.sim->step());
  ASSERT_NE(r.sim->shares(), nullptr);
  EXPECT_EQ(r.sim->shares()->device_blocks, std::vector<std::int64_t>{18});
  EXPECT_EQ(r.sim->shares()->worker_blocks, 6);
}

// For a mesh file, also if the mesh never changes.
TEST(SharedCourse, TheTimeOfPartsIsTheCostOfTheirBlocks) {
  one_run r("sedov",
            on_device({"mesh.max_level=0", "mesh.root_blocks=[2,2,2]", "run.max_steps=3", "run.device_share=0.75"}));
  r.sim->start();
  while (!r.sim->finished()) ASSERT_TRUE(r.sim->step());
  r.sim->collect_costs();
  for (const mesh::slot_id slot : r.sim->state().own()) {
    EXPECT_GT(r.sim->costs().of(slot).seconds, 0.0);
    EXPECT_EQ(r.sim->costs().of(slot).steps, 3.0);
  }
}

// Two blocks on three devices: the device without blocks is never used, so its loss has no effect.
TEST(SharedCourse, ADeviceWithoutBlocksIsNeverUsed) {
  gpu::cpu::testing_backend b({.devices = 3});
  one_run r("sedov",
            {"mesh.max_level=0", "mesh.root_blocks=[2,1,1]", "mesh.lower=[-0.5,-0.25,-0.25]",
             "mesh.upper=[0.5,0.25,0.25]", "run.max_steps=3", "run.devices=3", "run.device=emulated"},
            &b.get());
  r.sim->start();
  ASSERT_TRUE(r.sim->step());
  b.lose(2);
  while (!r.sim->finished()) ASSERT_TRUE(r.sim->step());
  EXPECT_EQ(r.sim->totals().size(), 6u);
  r.sim->fetch();
  EXPECT_EQ(r.sim->shares()->device_blocks, (std::vector<std::int64_t>{3, 3, 0}));
}

TEST(SharedCourse, ADeviceThatFailsIsAnErrorOfTheStep) {
  for (const char* call : {"launch", "copy", "record"}) {
    gpu::cpu::testing_backend b({.devices = 2});
    one_run r("sedov", with(blast, {"run.devices=2", "run.device_share=0.7", "run.device=emulated"}), &b.get());
    r.sim->start();
    ASSERT_TRUE(r.sim->step());
    b.fail_call(call, gpu::cpu::device_lost, 2, 1000);
    EXPECT_THROW(static_cast<void>(r.sim->step()), gpu::error) << call;
    EXPECT_EQ(r.sim->steps(), 1);
  }
}

TEST(SharedCourse, TooManyDevicesAreRefusedInOneLine) {
  const gpu::cpu::testing_backend b({.devices = 1});
  const auto in = input::from_text("[problem]\nname = \"sedov\"\n", "t", {"run.devices=2", "run.device=emulated"});
  const setup s = in.value()->prepare().value();
  simulation sim(*in.value(), s, workers());
  const auto taken = sim.take_device(&b.get());
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find("run.devices = 2: expected at most 1, the number of devices"), std::string::npos)
      << taken.error().message;
}

TEST(SharedCourse, InconsistentOptionsAreRefusedInOneLine) {
  EXPECT_NE(complaint_about({"run.device_share=0.5"}).find("found run.device = \"cpu\""), std::string::npos);
  EXPECT_NE(complaint_about({"run.devices=2"}).find("expected a device"), std::string::npos);
  for (const char* wrong : {"run.device_share=most", "run.device_share=1.5", "run.device_share=-1"})
    EXPECT_NE(complaint_about({"run.device=emulated", wrong}).find("expected auto or a number from 0 to 1"),
              std::string::npos)
        << wrong;
  EXPECT_EQ(complaint_about({"run.device=emulated", "run.device_share=auto"}), "");
}

}  // namespace
}  // namespace plx::star
