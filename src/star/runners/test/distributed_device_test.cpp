// Several localities with a device each: the bits of a run on the CPU of one locality, and the errors on all when a
// device fails.
#include "star/runners/distributed_device.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>

#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/error.hpp"
#include "mesh/files/checkpoint.hpp"
#include "net/simulation.hpp"
#include "rt/async.hpp"
#include "rt/thread.hpp"
#include "star/driver/options.hpp"
#include "star/runners/device_course.hpp"
#include "star/test/course_test.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;
TEST(DistributedDevice, ABlastIsTheSameToTheLastBit) {
  const texts sets{"run.max_steps=5"};
  const outcome cpu = run_on(1, 2, sets);
  ASSERT_GT(cpu.blocks.size(), 64u);
  for (const unsigned n : {2u, 3u, 4u}) {
    SCOPED_TRACE(n);
    expect_same(run_on(n, 2, on_device(sets)), cpu);
  }
}

// This scheme reads ghost cells at edges and corners, too.
TEST(DistributedDevice, Full3dWithPeriodicBoundaries) {
  const texts sets{"hydro.scheme=full3d", "mesh.max_level=1", "run.max_steps=3",
                   "mesh.sides=[\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\"]"};
  const outcome cpu = run_on(1, 2, sets);
  expect_same(run_on(2, 2, on_device(sets)), cpu);
  expect_same(run_on(3, 1, on_device(sets)), cpu);
}

TEST(DistributedDevice, TwoStagesAndInflow) {
  const texts sets{"problem.name=sod",     "mesh.max_level=1",         "run.max_steps=6",
                   "hydro.integrator=rk2", "hydro.reconstruction=plm", "sod.direction=[1,1,0]"};
  const outcome cpu = run_on(1, 2, sets);
  ASSERT_GT(cpu.blocks.size(), 8u);
  expect_same(run_on(2, 1, on_device(sets)), cpu);
}

const texts two_blocks{"mesh.max_level=0", "mesh.root_blocks=[2,1,1]", "mesh.lower=[-0.5,-0.25,-0.25]",
                       "mesh.upper=[0.5,0.25,0.25]"};

TEST(DistributedDevice, TwoStagesAndMoreLocalitiesThanBlocks) {
  const texts sets = with(two_blocks, {"run.max_steps=4", "hydro.integrator=rk2", "hydro.reconstruction=plm"});
  const outcome cpu = run_on(1, 2, sets);
  ASSERT_EQ(cpu.blocks.size(), 2u);
  expect_same(run_on(3, 1, on_device(sets)), cpu);
}

// The loss of that device has no effect.
TEST(DistributedDevice, ADeviceWithoutBlocksIsNeverUsed) {
  on_each(3, 1, [](int, step::exchange& net, runtime& rt) {
    gpu::cpu::testing_backend b({.devices = 3});
    const auto in = blast(with(two_blocks, {"run.device=emulated", "run.max_steps=3"}));
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    ASSERT_TRUE(sim.take_device(&b.get()));
    sim.start();
    ASSERT_TRUE(sim.step());
    if (sim.state().own().empty())
      for (const int device : {0, 1, 2}) b.lose(device);
    while (!sim.finished()) ASSERT_TRUE(sim.step());
    EXPECT_EQ(sim.totals().size(), 6u);
    sim.fetch();
  });
}

TEST(DistributedDevice, RulesOfTheTimeStepGiveTheSameCourse) {
  const texts rules{"mesh.max_level=1", "run.max_steps=10", "run.dt_first_factor=0.01", "run.dt_growth=1.5",
                    "run.dt_max=2e-3"};
  expect_same(run_on(2, 1, on_device(rules)), run_on(1, 2, rules));
}

// The signal rates in the checkpoint are far too small: the next step overflows.
TEST(DistributedDevice, AFailedStepIsTriedAgainFromTheUntouchedState) {
  const texts sets{"mesh.max_level=1", "run.t_end=1e300", "run.max_steps=0", "run.retries=2000"};
  const std::string path = "distributed-failed-step-" + std::to_string(getpid()) + ".h5";
  on_each(1, 1, [&](int, step::exchange& net, runtime& rt) {
    const auto in = blast(sets);
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    sim.start();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(sim.step());
    mesh::checkpoint_state state;
    state.identity = identity_of(in->table);
    state.numbers = sim.numbers();
    for (auto& [name, list] : state.numbers)
      if (name == "signal_rate")
        for (double& rate : list) rate *= 0x1p-120;
    ASSERT_TRUE(mesh::write_checkpoint(path, sim.state().mesh, sim.state().now, state));
  });
  const auto continued = [&](unsigned n, const texts& how) {
    outcome all;
    std::mutex lock;
    on_each(n, 2, [&](int here, step::exchange& net, runtime& rt) {
      const auto in = blast(how);
      const setup s = in->prepare().value();
      simulation sim(*in, s, rt, net);
      ASSERT_TRUE(sim.take_device());
      ASSERT_TRUE(sim.restore(mesh::read_checkpoint(path).value(), path));
      sim.go_on();
      const auto stepped = sim.step();
      sim.fetch();
      const std::vector<double> totals = sim.totals();
      const std::lock_guard guard(lock);
      all.take(sim);
      if (here != 0) return;
      all.totals = totals;
      all.error = stepped ? "" : stepped.error().message;
      all.numbers = {sim.dt(), sim.time()};
    });
    return all;
  };
  const outcome reference = continued(1, sets);
  EXPECT_EQ(reference.error, "");
  expect_same(continued(2, on_device(sets)), reference);
  expect_same(continued(3, on_device(sets)), reference);
  const texts few = with(sets, {"run.retries=1"});
  const outcome failed = continued(1, few);
  EXPECT_NE(failed.error.find("step 4, stage "), std::string::npos) << failed.error;
  expect_same(continued(3, on_device(few)), failed);
  std::remove(path.c_str());
}

TEST(DistributedDevice, ARequestReachesAllAtTheEndOfTheNextStep) {
  on_each(3, 2, [](int here, step::exchange& net, runtime& rt) {
    const auto in = blast(on_device({"mesh.max_level=0"}));
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
texts errors_on(unsigned n, const std::function<void(gpu::cpu::testing_backend&, int)>& spoil) {
  texts errors(n);
  gpu::cpu::testing_backend good({.devices = 4}), bad({.devices = 4});
  on_each(n, 2, [&](int here, step::exchange& net, runtime& rt) {
    const auto in = blast({"run.device=emulated", "run.max_steps=1000", "run.t_end=10", "mesh.max_level=1"});
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
      errors[static_cast<std::size_t>(here)] = e.what();
    }
  });
  return errors;
}

TEST(DistributedDevice, ADeviceThatFailsEndsTheRunOfAllWithOneLine) {
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
    const auto errors = errors_on(3, [&](gpu::cpu::testing_backend& b, int step) {
      if (step == f.step) b.fail_call(f.call, gpu::cpu::device_lost, f.after, 1000);
    });
    EXPECT_NE(errors[1].find("locality 1: "), std::string::npos) << errors[1];
    EXPECT_EQ(errors[1].find('\n'), std::string::npos) << errors[1];
    EXPECT_EQ(errors[0], errors[1]);
    EXPECT_EQ(errors[2], errors[1]);
  }
}

TEST(DistributedDevice, ADeviceThatIsLostEndsTheRunOfAll) {
  for (const int lost_at : {0, 1, 3}) {
    SCOPED_TRACE(lost_at);
    const auto errors = errors_on(2, [&](gpu::cpu::testing_backend& b, int step) {
      if (step == lost_at) b.lose(1);  // the localities take devices in turn
    });
    EXPECT_NE(errors[1].find("locality 1: "), std::string::npos) << errors[1];
    EXPECT_EQ(errors[0], errors[1]);
  }
}

TEST(DistributedDevice, AMissingDeviceIsReportedByItsLocality) {
  on_each(2, 1, [](int here, step::exchange& net, runtime& rt) {
    const gpu::cpu::testing_backend b({.count_fails = here == 1 ? gpu::cpu::no_driver : gpu::cpu::ok});
    const auto in = blast({"run.device=emulated"});
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    const auto taken = sim.take_device(&b.get());
    EXPECT_EQ(static_cast<bool>(taken), here == 0);
    if (taken) return;
    EXPECT_EQ(taken.error().message.find("run.device = \"emulated\": "), 0u) << taken.error().message;
  });
}

TEST(DistributedDevice, LocalitiesOfAHostTakeItsDevicesInTurn) {
  const gpu::cpu::testing_backend three({.devices = 3}), none({.count_fails = gpu::cpu::no_driver});
  std::vector<int> found;
  for (const int rank : {0, 1, 2, 3, 4}) found.push_back(device_index(three.get(), rank));
  EXPECT_EQ(found, (std::vector<int>{0, 1, 2, 0, 1}));
  EXPECT_EQ(device_index(none.get(), 1), 0);  // opening it reports the error
  on_each(3, 1, [](int here, step::exchange& net, runtime&) { EXPECT_EQ(rank_on_host(net), here); });
}

TEST(DistributedDevice, SurvivorsDoNotWaitForALostLocality) {
  expect_notified_of_a_loss(on_device({"mesh.max_level=1"}), 5);
}

// Localities under one seed, which also drives their devices; the network of net/sim delays, reorders, loses and
// duplicates messages.
TEST(DistributedDevice, ABlastIsTheSameOnAnyNetworkAndDevices) {
  const texts few{"mesh.max_level=1", "run.max_steps=3"};
  const outcome cpu = run_on(1, 1, few);
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
      const auto in = blast(with(few, {"run.device=emulated"}));
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
    expect_same(all, cpu);
  }
}

/// A backend that counts the bytes which are copied in either direction, for one of two localities.
template <int Locality>
struct counting_backend {
  static inline std::atomic<std::size_t> bytes{0};
  static const gpu::backend& get() {
    static const gpu::backend b = [] {
      gpu::backend counting = gpu::cpu::table();
      counting.copy = [](gpu::native_device d, gpu::native_stream s, void* to, const void* from, std::size_t count) {
        bytes += count;
        return gpu::cpu::table().copy(d, s, to, from, count);
      };
      return counting;
    }();
    return b;
  }
};

// For a check the device takes the limits of each level and returns two words per block. When the mesh or the partition
// changes, all values come and go.
TEST(DistributedDevice, ARegridCheckThatChangesNothingCopiesNoValues) {
  std::atomic<int> idle_checks{0}, changes{0};
  on_each(2, 1, [&](int here, step::exchange& net, runtime& rt) {
    const auto in =
        blast({"run.device=emulated", "mesh.max_level=1", "run.max_steps=40", "refinement.interval=2", "run.t_end=1"});
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    ASSERT_TRUE(sim.take_device(&(here == 0 ? counting_backend<0>::get() : counting_backend<1>::get())));
    sim.start();
    const std::atomic<std::size_t>& bytes = here == 0 ? counting_backend<0>::bytes : counting_backend<1>::bytes;
    const auto bytes_of_step = [&] {
      const std::size_t before = bytes;
      EXPECT_TRUE(sim.step());
      return bytes - before;
    };
    while (!sim.finished()) {
      const mesh::block_mesh before = sim.state().mesh;
      const mesh::curve_parts parts = sim.state().parts;
      const std::size_t blocks = sim.state().own().size();
      const std::size_t values = blocks * sim.state().now.stride() * sizeof(double);
      const std::size_t of_step = bytes_of_step(), with_check = bytes_of_step();
      ASSERT_GT(of_step, 0u);
      const mesh::block_mesh& after = sim.state().mesh;
      const bool same =
          std::equal(before.blocks().begin(), before.blocks().end(), after.blocks().begin(), after.blocks().end());
      const bool changed = !same || sim.state().parts != parts;
      (changed ? changes : idle_checks) += 1;
      if (changed)
        EXPECT_GE(with_check, of_step + values);
      else
        EXPECT_LE(with_check, of_step + 8 * blocks + 512) << "values: " << values;
    }
  });
  EXPECT_GT(idle_checks, 0);
  EXPECT_GT(changes, 0);
}

// For a mesh file and for the balance, also if the mesh never changes.
TEST(DistributedDevice, TheTimeOfADeviceIsTheCostOfItsBlocks) {
  on_each(2, 1, [&](int, step::exchange& net, runtime& rt) {
    const auto in = blast(on_device({"mesh.max_level=0", "run.max_steps=3"}));
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    ASSERT_TRUE(sim.take_device());
    sim.start();
    while (!sim.finished()) ASSERT_TRUE(sim.step());
    sim.collect_costs();
    ASSERT_EQ(sim.state().own().size(), 4u);
    for (const mesh::slot_id slot : sim.state().own()) {
      EXPECT_GT(sim.costs().of(slot).seconds, 0.0);
      EXPECT_EQ(sim.costs().of(slot).steps, 3.0);
    }
  });
}

}  // namespace
}  // namespace plx::star
