// Blocks divided between devices and the CPU's workers: the bits of the CPU's run, whoever has which block.
#include "star/shared_course.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "rt/runtime.hpp"
#include "star/simulation.hpp"

namespace plx::star {
namespace {

using texts = std::vector<std::string>;

const std::string& tested() {
  static const char* const named = std::getenv("PLX_STAR_TEST_DEVICE");
  static const std::string name = named != nullptr ? named : "emulated";
  return name;
}

runtime& workers() {
  static runtime rt({.workers = 2});
  return rt;
}

struct one_run {
  one_run(const std::string& problem, texts sets) {
    sets.insert(sets.begin(), {"mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]"});
    in = input::from_text("[problem]\nname = \"" + problem + "\"\n", "t", sets).value();
    s = in->prepare().value();
    sim = std::make_unique<simulation>(*in, s, workers());
    const auto taken = sim->take_device();
    EXPECT_TRUE(taken) << taken.error().message;
  }
  std::unique_ptr<input> in;
  setup s;
  std::unique_ptr<simulation> sim;
};

std::string difference_of(simulation& a, simulation& b) {
  if (a.time() != b.time() || a.dt() != b.dt()) return "time";
  if (a.totals() != b.totals()) return "totals";
  for (int v = 0; v < 6; ++v)
    if (a.left(v) != b.left(v)) return "what left through sides";
  const floor_counts &f = a.floors(), &h = b.floors();
  if (f.density != h.density || f.pressure != h.pressure || f.input != h.input) return "floors";
  const gas &g = a.state(), &o = b.state();
  if (g.mesh.block_count() != o.mesh.block_count()) return "blocks";
  b.fetch();
  for (std::size_t p = 0; p < g.mesh.block_count(); ++p) {
    const mesh::slot_id s = g.mesh.blocks()[p], t = o.mesh.blocks()[p];
    if (g.mesh.where(s) != o.mesh.where(t)) return "tree";
    if (std::memcmp(g.now.block(s), o.now.block(t), sizeof(double) * g.now.stride()) != 0) return "values";
    if (g.signal_rate[s] != o.signal_rate[t]) return "signal rates";
  }
  return "";
}

/// Beside the CPU's run: the course at every step, values and all at every second one.
void compare(const std::string& problem, const texts& sets, const texts& how) {
  texts with = sets;
  with.insert(with.end(), how.begin(), how.end());
  with.push_back("run.device=" + tested());
  one_run cpu(problem, sets), both(problem, with);
  cpu.sim->start();
  both.sim->start();
  ASSERT_TRUE(both.sim->on_device());
  while (!cpu.sim->finished()) {
    const auto a = cpu.sim->step(), b = both.sim->step();
    ASSERT_TRUE(a) << a.error().message;
    ASSERT_TRUE(b) << b.error().message;
    ASSERT_EQ(cpu.sim->time(), both.sim->time());
    if (cpu.sim->steps() % 2 != 0 && !cpu.sim->finished()) continue;
    ASSERT_EQ(difference_of(*cpu.sim, *both.sim), "") << problem << ", step " << cpu.sim->steps();
  }
  EXPECT_TRUE(both.sim->finished());
}

const texts blast{"mesh.max_level=2",          "mesh.root_blocks=[2,2,2]",       "run.max_steps=4",
                  "refinement.interval=3",     "sedov.centre=[0.11,-0.07,0.19]", "sedov.radius=0.1",
                  "refinement.coarsen_after=1"};

TEST(SharedCourse, ADeviceAndTheWorkers) { compare("sedov", blast, {"run.device_share=0.6"}); }

TEST(SharedCourse, SeveralDevices) {
  if (tested() != "emulated") GTEST_SKIP() << "takes three devices";
  compare("sedov", blast, {"run.devices=3"});
}

TEST(SharedCourse, SeveralDevicesAndTheWorkers) {
  if (tested() != "emulated") GTEST_SKIP() << "takes two devices";
  compare("sedov", blast, {"run.devices=2", "run.device_share=0.7"});
}

TEST(SharedCourse, TheWorkersAlone) { compare("sedov", blast, {"run.device_share=0"}); }

TEST(SharedCourse, Full3dWithGhostsAtEdgesAndCorners) {
  compare("sedov",
          {"hydro.scheme=full3d", "mesh.max_level=1", "mesh.root_blocks=[2,2,2]", "run.max_steps=3",
           "refinement.interval=2", "sedov.centre=[0.11,-0.07,0.19]", "sedov.radius=0.1",
           "mesh.sides=[\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\"]"},
          {"run.device_share=0.5"});
}

TEST(SharedCourse, TwoStagesAndInflow) {
  compare("sod",
          {"mesh.max_level=1", "mesh.root_blocks=[2,2,2]", "run.max_steps=6", "refinement.interval=2",
           "hydro.integrator=rk2", "hydro.reconstruction=plm", "sod.direction=[1,1,0]"},
          {"run.device_share=0.4"});
}

TEST(SharedCourse, SharesByMeasuredRatesChangeNothingElse) {
  texts sets = blast;
  sets[0] = "mesh.max_level=0";
  sets[2] = "run.max_steps=70";  // more than three measurements
  compare("sedov", sets, {"run.device_share=auto"});
}

TEST(SharedCourse, TellsWhoHasAdvancedWhat) {
  one_run r("sedov", {"mesh.max_level=0", "mesh.root_blocks=[2,2,2]", "run.max_steps=3", "run.device_share=0.75",
                      "run.device=" + tested()});
  r.sim->start();
  while (!r.sim->finished()) ASSERT_TRUE(r.sim->step());
  ASSERT_NE(r.sim->shares(), nullptr);
  EXPECT_EQ(r.sim->shares()->device_blocks, std::vector<std::int64_t>{18});
  EXPECT_EQ(r.sim->shares()->worker_blocks, 6);
}

TEST(SharedCourse, WhatDoesNotFitIsSaidInOneLine) {
  const auto message = [](const texts& sets) -> std::string {
    auto in = input::from_text("[problem]\nname = \"sod\"\n", "t", sets);
    if (!in) return in.error().message;
    const auto s = in.value()->prepare();
    return s ? "" : s.error().message;
  };
  EXPECT_NE(message({"run.device_share=0.5"}).find("found run.device = \"cpu\""), std::string::npos);
  EXPECT_NE(message({"run.devices=2"}).find("expected a device"), std::string::npos);
  for (const char* wrong : {"run.device_share=most", "run.device_share=1.5", "run.device_share=-1"})
    EXPECT_NE(message({"run.device=emulated", wrong}).find("expected auto or a number from 0 to 1"), std::string::npos)
        << wrong;
  EXPECT_EQ(message({"run.device=emulated", "run.device_share=auto"}), "");
}

}  // namespace
}  // namespace plx::star
