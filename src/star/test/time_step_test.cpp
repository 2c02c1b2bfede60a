// The length of time steps, failed steps that are tried again, and the ends of a run that limits bring about.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "mesh/files/checkpoint.hpp"
#include "star/device/data/step_data.hpp"
#include "star/driver/options.hpp"
#include "star/driver/run.hpp"
#include "star/test/course_test.hpp"

namespace plx::star {
namespace {

using namespace test;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(StepRule, TheEndIsMetByTwoEqualSteps) {
  const device::step_rule r{.cfl = 0.5, .t_end = 1.0};
  EXPECT_EQ(device::next_dt(r, {.signal_rate = 5.0}), 0.1);
  EXPECT_EQ(device::next_dt(r, {.time = 0.875, .signal_rate = 5.0}), 0.0625);  // 2 * 0.1 > 0.125
  EXPECT_EQ(device::next_dt(r, {.time = 0.9375, .signal_rate = 5.0}), 0.0625);
  EXPECT_EQ(device::next_dt(r, {.time = 0.25}), 0.75);  // nothing moves
}

TEST(StepRule, FirstStepGrowthAndBounds) {
  const device::step_state begin{.signal_rate = 1.0},
      later{.time = 1.0, .last_dt = 0.1, .signal_rate = 1.0, .steps = 1};
  const device::step_rule plain{.cfl = 0.5, .t_end = 100.0};
  device::step_rule r = plain;
  r.first_factor = 0.125;
  EXPECT_EQ(device::next_dt(r, begin), 0.0625);
  EXPECT_EQ(device::next_dt(r, later), 0.5);
  r = plain, r.growth = 2.0;
  EXPECT_EQ(device::next_dt(r, begin), 0.5);  // there is no step before
  EXPECT_EQ(device::next_dt(r, later), 0.2);
  r = plain, r.longest = 0.25;
  EXPECT_EQ(device::next_dt(r, later), 0.25);
  r = plain, r.shortest = 0.75;
  EXPECT_EQ(device::next_dt(r, later), 0.0);
  r.shortest = 0.5;
  EXPECT_EQ(device::next_dt(r, later), 0.5);
  EXPECT_EQ(device::next_dt(r, {.time = 99.9, .last_dt = 0.5, .signal_rate = 1.0}), 100.0 - 99.9);  // the last step
}

TEST(StepRule, AStepThatDoesNotAdvanceTheTimeIsNone) {
  EXPECT_EQ(device::next_dt({.cfl = 0.5, .t_end = 10.0}, {.time = 1.0, .signal_rate = 1e17}), 0.0);
  EXPECT_EQ(device::next_dt({.cfl = 0.5, .t_end = 10.0}, {.time = 1.0, .signal_rate = std::nan("")}), 9.0);
}

const texts off_centre{"mesh.max_level=1", "mesh.root_blocks=[2,2,2]", "sedov.centre=[0.11,-0.07,0.19]",
                       "sedov.radius=0.1"};

TEST(TimeStep, ItsRulesGiveTheSameCourseOnADevice) {
  const texts rules{"run.max_steps=14", "run.dt_first_factor=0.01", "run.dt_growth=1.5", "run.dt_max=2e-3"};
  compare("sedov", with(off_centre, rules), {}, 0);
  one_run r("sedov", with(off_centre, rules));
  r.sim->start();
  std::vector<double> dt;
  while (!r.sim->finished()) {
    ASSERT_TRUE(r.sim->step());
    dt.push_back(r.sim->dt());
  }
  one_run free("sedov", with(off_centre, {"run.max_steps=1"}));
  free.sim->start();
  ASSERT_TRUE(free.sim->step());
  EXPECT_EQ(dt[0], 0.01 * free.sim->dt());
  for (std::size_t i = 1; i < dt.size(); ++i) EXPECT_LE(dt[i], 1.5 * dt[i - 1]);
  EXPECT_EQ(dt[1], 1.5 * dt[0]);
  EXPECT_LE(dt.back(), 2e-3);
}

TEST(TimeStep, OneBelowTheSmallestIsAnErrorThatNamesBoth) {
  for (const texts& on : {off_centre, on_device(off_centre)}) {
    one_run r("sedov", with(on, {"run.dt_min=0.5", "run.t_end=10"}));
    r.sim->start();
    const auto stepped = r.sim->step();
    ASSERT_FALSE(stepped);
    EXPECT_THAT(stepped.error().message, HasSubstr("step 1: the time step fell to "));
    EXPECT_THAT(stepped.error().message, HasSubstr("expected at least run.dt_min = 0.5 code units"));
  }
}

TEST(TimeStep, OptionsThatContradictEachOtherAreRefused) {
  EXPECT_THAT(complaint_about({"run.dt_growth=0.5"}), HasSubstr("run.dt_growth = 0.5: expected a ratio above 1"));
  EXPECT_THAT(complaint_about({"run.dt_min=2", "run.dt_max=1"}), HasSubstr("expected at most run.dt_max = 1"));
  EXPECT_NE(complaint_about({"run.dt_first_factor=0"}), "");
}

/// A checkpoint of the blast after three steps, whose signal rates are far too small: the next step overflows.
class FailedStep : public ::testing::Test {
 protected:
  FailedStep() {
    one_run r("sedov", with(off_centre, {"run.t_end=1e300"}));
    r.sim->start();
    for (int i = 0; i < 3; ++i) r.sim->step().value();
    mesh::checkpoint_state state;
    state.identity = identity_of(r.in->table);
    state.numbers = r.sim->numbers();
    for (auto& [name, list] : state.numbers)
      if (name == "signal_rate")
        for (double& rate : list) rate *= 0x1p-66;
    mesh::write_checkpoint(path, r.sim->state().mesh, r.sim->state().now, state).value();
  }
  ~FailedStep() override { std::remove(path.c_str()); }

  /// The run on that hardware, continued from the checkpoint.
  std::unique_ptr<one_run> restored(const texts& sets) const {
    auto r = std::make_unique<one_run>("sedov", with(off_centre, with(sets, {"run.t_end=1e300"})));
    const auto c = mesh::read_checkpoint(path);
    r->sim->restore(*c, path).value();
    r->sim->go_on();
    return r;
  }

  const std::string path = "failed-step-" + std::to_string(getpid()) + ".h5";
  const texts hardware[2] = {{}, {"run.device=" + tested()}};
};

TEST_F(FailedStep, IsTriedAgainWithHalfTheTimeStepFromTheUntouchedState) {
  auto reference = restored({"run.retries=2000"});
  const auto stepped = reference->sim->step();
  ASSERT_TRUE(stepped) << stepped.error().message;
  const double dt = reference->sim->dt();
  const texts at_once{"run.retries=0", fmt::format("run.dt_max={}", dt)};
  for (const texts& on : hardware)
    for (const texts& how : {texts{"run.retries=2000"}, at_once}) {
      auto r = restored(with(on, how));
      ASSERT_TRUE(r->sim->step());
      EXPECT_EQ(same_course(*reference->sim, *r->sim), "") << ::testing::PrintToString(with(on, how));
      EXPECT_EQ(same_state(*reference->sim, *r->sim), "") << ::testing::PrintToString(with(on, how));
    }
}

TEST_F(FailedStep, IsNotTriedAgainBelowTheSmallestTimeStep) {
  auto once = restored({"run.retries=0", "run.dt_min=1e10"});
  auto often = restored({"run.retries=2000", "run.dt_min=1e10"});
  ASSERT_FALSE(once->sim->step());
  const auto stepped = often->sim->step();
  ASSERT_FALSE(stepped);
  const std::string& message = stepped.error().message;
  EXPECT_GE(std::stod(message.substr(message.find(", dt ") + 5)), 1e10) << message;
}

TEST_F(FailedStep, IsAnErrorAfterTheLastRetry) {
  std::string said;
  for (const texts& on : hardware) {
    auto r = restored(with(on, {"run.retries=3"}));
    const auto stepped = r->sim->step();
    ASSERT_FALSE(stepped);
    EXPECT_EQ(r->sim->steps(), 3);
    EXPECT_THAT(stepped.error().message, HasSubstr("step 4, stage "));
    if (said.empty()) said = stepped.error().message;
    EXPECT_EQ(stepped.error().message, said);
  }
}

class RunLimits : public ::testing::Test {
 protected:
  ~RunLimits() override { std::filesystem::remove_all(folder); }
  run_end run_with(const std::string& problem, const texts& sets) {
    const auto in = input::from_text("[problem]\nname = \"" + problem + "\"\n", "t", sets).value();
    const setup s = in->prepare().value();
    run_request request;
    request.out = folder;
    run_observer observer;
    return run(*in, s, workers(), request, observer);
  }
  const std::string folder = "run-limits-" + std::to_string(getpid());
};

TEST_F(RunLimits, TheWallTimeEndsTheRunWithACheckpoint) {
  const run_end end = run_with("sedov", with(off_centre, {"mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]",
                                                          "run.wall_limit_s=1e-9", "run.max_steps=50"}));
  EXPECT_EQ(end.status, run_status::interrupted);
  EXPECT_THAT(end.message,
              HasSubstr("run.wall_limit_s = 1e-09 is reached; continue with: plx-star --resume " + folder));
  EXPECT_TRUE(newest_checkpoint(folder));
}

// Floors that are far above the density of the near vacuum add mass.
TEST_F(RunLimits, FloorsThatAddTooMuchEndTheRun) {
  const texts vacuum{"mesh.max_level=0",
                     "mesh.root_blocks=[4,1,1]",
                     "mesh.lower=[-0.5,-0.125,-0.125]",
                     "mesh.upper=[0.5,0.125,0.125]",
                     "run.t_end=0.2",
                     "hydro.density_floor=0.5",
                     "output.checkpoint_interval_s=1e-9"};
  const run_end end = run_with("einfeldt", vacuum);
  EXPECT_EQ(end.status, run_status::failed);
  EXPECT_FALSE(end.output_failed);
  EXPECT_THAT(
      end.message,
      ContainsRegex("floors have added 0\\.1[0-9]* to the mass and [-+.0-9e]+ is unexplained, together 0\\.1[0-9]* "
                    "of its value at the start; expected magnitudes of at most "
                    "run.conservation_limit = 0.1\\."));
  EXPECT_THAT(end.message, HasSubstr("continue from a checkpoint (--resume " + folder));
  const std::string newest = newest_checkpoint(folder).value();  // .../einfeldt.00000012.h5
  const int step_of_checkpoint = std::stoi(newest.substr(newest.size() - 11, 8));
  EXPECT_LT(step_of_checkpoint, std::stoi(end.message.substr(5))) << end.message;  // "step 13: ..."
  std::filesystem::remove_all(folder);
  EXPECT_EQ(run_with("einfeldt", with(vacuum, {"run.conservation_limit=0"})).status, run_status::finished);
}

// The energy with gravity counts as well: floors of the pressure heat the near vacuum.
TEST_F(RunLimits, FloorsThatAddTooMuchEnergyEndARunWithGravity) {
  const texts vacuum{"mesh.max_level=0",
                     "mesh.root_blocks=[4,1,1]",
                     "mesh.lower=[-0.5,-0.125,-0.125]",
                     "mesh.upper=[0.5,0.125,0.125]",
                     "gravity.self=true",
                     "gravity.constant=0.01",
                     "run.t_end=0.2"};
  const run_end end = run_with("einfeldt", with(vacuum, {"hydro.pressure_floor=0.3"}));
  EXPECT_EQ(end.status, run_status::failed);
  EXPECT_THAT(end.message,
              ContainsRegex("floors have added 0\\.1[0-9]* to the energy and .* is unexplained, together 0\\.1"));
  EXPECT_THAT(end.conservation, HasSubstr("boundaries      floors"));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(run_with("einfeldt", with(vacuum, {"run.conservation_limit=1e-13"})).status, run_status::finished);
  std::filesystem::remove_all(folder);
  // With a point mass the energy is conserved to the order of the scheme: its remainder does not count.
  const texts point{"hydro.pressure_floor=0.3", "gravity.point_mass=1e-6", "gravity.point_mass_softening=0.1"};
  const run_end of_floors = run_with("einfeldt", with(vacuum, point));
  EXPECT_EQ(of_floors.status, run_status::failed);
  EXPECT_THAT(of_floors.message, ContainsRegex("floors have added 0\\.1[0-9]* to the energy of "));
}

}  // namespace
}  // namespace plx::star
