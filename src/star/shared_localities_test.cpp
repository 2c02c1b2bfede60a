// Devices on several localities: the bits of a run on the CPU of one locality, and the errors on all when a device
// fails.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <memory>

#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/error.hpp"
#include "net/simulation.hpp"
#include "rt/async.hpp"
#include "rt/thread.hpp"
#include "star/course_device.hpp"
#include "star/localities_test.hpp"
#include "star/shared_course.hpp"

namespace plx::star {
namespace {

using namespace test;
using texts = std::vector<std::string>;

texts on_devices(texts sets, const texts& how) {
  sets.push_back("run.device=emulated");
  sets.insert(sets.end(), how.begin(), how.end());
  return sets;
}

TEST(SharedLocalities, ABlastIsTheSameToTheLastBit) {
  const texts sets{"run.max_steps=5"};
  const outcome one = run_on(1, 2, sets);
  ASSERT_GT(one.blocks.size(), 64u);
  for (const auto& [n, how] : std::vector<std::pair<unsigned, texts>>{{1, {"run.device_share=0.6"}},
                                                                      {2, {}},
                                                                      {3, {}},
                                                                      {2, {"run.devices=2"}},
                                                                      {2, {"run.device_share=0.6"}},
                                                                      {3, {"run.devices=2", "run.device_share=0.7"}},
                                                                      {2, {"run.device_share=0"}}}) {
    SCOPED_TRACE(
        fmt::format("{} localities, {}", n, how.empty() ? "a device each" : fmt::format("{}", fmt::join(how, " "))));
    expect_same(run_on(n, 2, on_devices(sets, how)), one);
  }
}

// This scheme reads ghost cells at edges and corners, too.
TEST(SharedLocalities, Full3dWithPeriodicBoundaries) {
  const texts sets{"hydro.scheme=full3d", "mesh.max_level=1", "run.max_steps=3",
                   "mesh.sides=[\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\"]"};
  const outcome one = run_on(1, 2, sets);
  expect_same(run_on(2, 2, on_devices(sets, {"run.devices=2"})), one);
  expect_same(run_on(3, 1, on_devices(sets, {"run.device_share=0.5"})), one);
}

TEST(SharedLocalities, TwoStagesAndMoreLocalitiesThanBlocks) {
  const texts sets{"mesh.max_level=0",          "run.max_steps=4",          "hydro.integrator=rk2",
                   "hydro.reconstruction=plm",  "mesh.root_blocks=[2,1,1]", "mesh.lower=[-0.5,-0.25,-0.25]",
                   "mesh.upper=[0.5,0.25,0.25]"};
  const outcome one = run_on(1, 2, sets);
  ASSERT_EQ(one.blocks.size(), 2u);
  expect_same(run_on(3, 1, on_devices(sets, {})), one);
}

TEST(SharedLocalities, SharesByMeasuredRatesChangeNothingElse) {
  const texts sets{"mesh.max_level=0", "run.max_steps=40", "run.t_end=1"};
  const outcome one = run_on(1, 2, sets);
  expect_same(run_on(2, 2, on_devices(sets, {"run.device_share=auto"})), one);
}

TEST(SharedLocalities, ARequestReachesAllAtTheEndOfTheNextStep) {
  on_each(3, 2, [](int here, step::exchange& net, runtime& rt) {
    const auto in = blast(on_devices({"mesh.max_level=0"}, {}));
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    ASSERT_TRUE(sim.take_device());
    sim.start();
    if (here == 1) sim.wish(4);
    if (here == 2) sim.wish(1);
    ASSERT_TRUE(sim.step());
    EXPECT_EQ(sim.wishes(), 5u);
    ASSERT_TRUE(sim.step());
    EXPECT_EQ(sim.wishes(), 0u);
  });
}

/// The error on each of n localities when the device of number 1 fails: `spoil(backend, step)` is called before each of
/// its steps.
std::vector<std::string> told_on(unsigned n, const texts& how,
                                 const std::function<void(gpu::cpu::testing_backend&, int)>& spoil) {
  std::vector<std::string> told(n);
  gpu::cpu::testing_backend good({.devices = 4}), bad({.devices = 4});
  on_each(n, 2, [&](int here, step::exchange& net, runtime& rt) {
    const auto in = blast(on_devices({"run.max_steps=1000", "run.t_end=10", "mesh.max_level=1"}, how));
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    gpu::cpu::testing_backend& mine = here == 1 ? bad : good;
    ASSERT_TRUE(sim.take_device(&mine.get()));
    try {
      if (here == 1) spoil(bad, -1);
      sim.start();
      for (int step = 0; step < 6; ++step) {
        if (here == 1) spoil(bad, step);
        ASSERT_TRUE(sim.step());
      }
    } catch (const gpu::error& e) {
      told[static_cast<std::size_t>(here)] = e.what();
    }
  });
  return told;
}

TEST(SharedLocalities, ADeviceThatFailsEndsTheRunOfAllWithOneLine) {
  // In a step with and one without a regrid check, at a launch or a copy, early and late in the step; at the start.
  struct failure {
    int step;
    const char* call;
    unsigned after;
  };
  for (const failure& f : {failure{0, "launch", 0},
                           {0, "launch", 7},
                           {1, "launch", 0},
                           {1, "copy", 3},
                           {2, "copy", 0},
                           {2, "record", 1},
                           {3, "copy", 40},
                           {-1, "allocate", 0},
                           {-1, "copy", 5}}) {
    SCOPED_TRACE(fmt::format("step {}, {} after {}", f.step, f.call, f.after));
    const auto told = told_on(3, {}, [&](gpu::cpu::testing_backend& b, int step) {
      if (step == f.step) b.fail_call(f.call, gpu::cpu::device_lost, f.after, 1000);
    });
    EXPECT_NE(told[1].find("locality 1: "), std::string::npos) << told[1];
    EXPECT_EQ(told[1].find('\n'), std::string::npos) << told[1];
    EXPECT_EQ(told[0], told[1]);
    EXPECT_EQ(told[2], told[1]);
  }
}

TEST(SharedLocalities, ADeviceThatIsLostEndsTheRunOfAll) {
  for (const int lost_at : {0, 1, 3}) {
    SCOPED_TRACE(lost_at);
    const auto told =
        told_on(2, {"run.devices=2", "run.device_share=0.8"}, [&](gpu::cpu::testing_backend& b, int step) {
          if (step == lost_at) b.lose(3);  // the second device of locality 1: the localities take devices in turn
        });
    EXPECT_NE(told[1].find("locality 1: "), std::string::npos) << told[1];
    EXPECT_EQ(told[0], told[1]);
  }
}

TEST(SharedLocalities, AMissingDeviceIsReportedByItsLocality) {
  on_each(2, 1, [](int here, step::exchange& net, runtime& rt) {
    const gpu::cpu::testing_backend b({.count_fails = here == 1 ? gpu::cpu::no_driver : gpu::cpu::ok});
    const auto in = blast(on_devices({}, {}));
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    const auto taken = sim.take_device(&b.get());
    EXPECT_EQ(static_cast<bool>(taken), here == 0);
    if (taken) return;
    EXPECT_EQ(taken.error().message.find("run.device = \"emulated\": "), 0u) << taken.error().message;
  });
}

TEST(SharedLocalities, LocalitiesOfAHostTakeItsDevicesInTurn) {
  const gpu::cpu::testing_backend three({.devices = 3});
  run_options run;
  run.devices = 2;
  std::vector<int> found;
  for (const int rank : {0, 1, 2})
    for (const int which : {0, 1}) found.push_back(device_index(run, three.get(), rank, which));
  EXPECT_EQ(found, (std::vector<int>{0, 1, 2, 0, 1, 2}));
  run.devices = 4;  // more than exist: opening the last one reports it
  EXPECT_EQ(device_index(run, three.get(), 1, 3), 3);
  on_each(3, 1, [](int here, step::exchange& net, runtime&) { EXPECT_EQ(rank_on_host(net), here); });
}

TEST(SharedLocalities, SurvivorsDoNotWaitForALostLocality) {
  expect_told_of_a_loss(on_devices({"mesh.max_level=1"}, {}), 5);
}

// Localities under one seed, which also drives their devices; the network of net/sim delays, reorders, loses and
// duplicates messages.
TEST(SharedLocalities, ABlastIsTheSameOnAnyNetworkAndDevices) {
  const texts few{"mesh.max_level=1", "run.max_steps=3"};
  const outcome one = run_on(1, 1, few);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    outcome all;
    std::vector<outcome> each(3);
    std::atomic<int> ended{0};
    std::vector<std::unique_ptr<gpu::cpu::testing_backend>> devices;
    for (std::uint64_t i = 0; i < 3; ++i)
      devices.push_back(std::make_unique<gpu::cpu::testing_backend>(
          gpu::cpu::options{.devices = 2, .stepped = true, .seed = 3 * seed + i}));
    net::simulation job({.localities = 3, .seed = seed, .delay_max_s = 1e-3});
    job.run([&] {
      net::node& here = net::node_here();
      step::exchange net(here);
      const auto in = blast(on_devices(few, seed % 2 == 0 ? texts{"run.devices=2"} : texts{}));
      const setup s = in->prepare().value();
      simulation sim(*in, s, here.home(), net);
      // Devices advance when they are polled, and are not polled for long when all tasks wait. All localities stay busy
      // to the end: an idle one beside a busy one is not polled to send again what was lost.
      auto busy = async([&ended] {
        while (ended < 3) this_thread::yield();
      });
      run_here(
          sim, each[here.here()], [](simulation&) {}, &devices[here.here()]->get());
      ++ended;
      busy.get();
      all.take(sim);  // only one locality runs at a time
    });
    all.totals = each[0].totals;
    all.numbers = each[0].numbers;
    all.error = each[0].error;
    expect_same(all, one);
  }
}

TEST(SharedLocalities, EachReportsTheBlocksItHasAdvanced) {
  std::atomic<std::int64_t> all{0};
  on_each(2, 1, [&](int, step::exchange& net, runtime& rt) {
    const auto in = blast(on_devices({"mesh.max_level=0", "run.max_steps=3"}, {"run.device_share=0.75"}));
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    ASSERT_TRUE(sim.take_device());
    sim.start();
    while (!sim.finished()) ASSERT_TRUE(sim.step());
    EXPECT_EQ(sim.shares()->device_blocks, std::vector<std::int64_t>{9});  // 3 of its 4 blocks
    all += sim.shares()->device_blocks[0] + sim.shares()->worker_blocks;
  });
  EXPECT_EQ(all, 24);
}

}  // namespace
}  // namespace plx::star
