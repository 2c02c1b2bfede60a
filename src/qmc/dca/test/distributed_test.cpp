// The loop on several localities of a simulated job beside the loop on one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/simulation.hpp"
#include "qmc/dca/dca.hpp"
#include "qmc/dca/test/small_runs.hpp"
#include "qmc/solver/distributed_walkers.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace plx::qmc {
namespace {

using namespace test;

TEST(DcaDistributed, BitsDoNotDependOnLocalities) {
  const auto o = small();
  const auto alone = solve_alone(o);
  EXPECT_EQ(alone.iterations[0].exchanged_mb, 0);
  for (const unsigned localities : {2u, 4u}) {  // one has no walker
    std::vector<recorder> all(localities);
    EXPECT_FALSE(solve_on(localities, o, all).stopped);
    expect_same_bits(all[0], alone);
    EXPECT_TRUE(all[1].iterations.empty() && all[1].states.empty());
    EXPECT_GT(all[0].iterations[0].exchanged_mb, 0);
    std::uint64_t samples = 0;
    for (const auto& observer : all) samples += observer.walkers->samples;
    EXPECT_EQ(samples, 3u * o.measurements);  // of three iterations
    EXPECT_GT(all[0].walkers->samples, 0u);   // the root always has walkers, whose progress it reports
  }
}

TEST(DcaDistributed, FunctionsOfTwoParticlesHaveTheSameBitsWhereverTheyAre) {
  auto o = with_functions();
  const auto alone = solve_alone(o);
  for (const unsigned localities : {1u, 2u, 3u, 4u, 5u})  // three have different numbers of walkers, one of five none
    for (const char* distribute : {"always", "never"}) {
      o.distribute = distribute;
      std::vector<recorder> all(localities);
      EXPECT_FALSE(solve_on(localities, o, all).stopped);
      expect_same_functions(all[0], alone);
    }
}

struct no_disk : function_store {
  result<std::uint64_t> write(std::uint64_t, unsigned, std::span<const walker_functions>) override { return 1; }
  result<walker_functions> read(const checkpoint_parts&, std::size_t) override { return error{"nothing is kept"}; }
};

// No locality has more than its share of the bins. Writing them does not count as exchange of the run.
TEST(DcaDistributed, EachLocalityHoldsTheFunctionsOfItsWalkers) {
  const auto o = with_functions();
  for (const bool stays : {true, false}) {
    std::vector<double> bytes(4);
    std::size_t sent = 0;
    net::simulation job({.localities = 4, .seed = 5});
    job.run([&] {
      const team members{communicator("dca")};
      const auto lattice = std::make_shared<const cluster>(o.make_cluster().value());
      distributed_walkers walkers(members, lattice, nullptr);
      walkers.keep_functions_in(std::make_shared<no_disk>());
      walkers.hold_bins_with([&](const impurity&, const std::vector<bin_functions>& bins) {
        for (const auto& b : bins) bytes[members.rank()] += static_cast<double>(sizeof(double) * b.sums.size());
      });
      if (members.rank() != 0) return walkers.serve();
      const coarse_graining grain(*lattice, {});
      impurity p{lattice, 4, 1, 0, grain.green(matsubara_function(4, 32), 0, 1), {}};
      for (int k = 0; k < 4; ++k) p.moments.push_back(grain.patch(k).mean());
      const auto done = walkers.run(p, {.walkers = 4,
                                        .bins = 2,
                                        .measurements = 10,
                                        .warm_up = 100,
                                        .four_points = o.make_four_points(*lattice).value(),
                                        .functions_stay = stays});
      const auto& r = done.value();
      for (const auto& b : r.bins) sent += b.four_points.size();
      EXPECT_EQ(walkers.held_bins(),
                (stays ? std::vector<std::size_t>{2, 2, 2, 2} : std::vector<std::size_t>{8, 0, 0, 0}));
      if (stays) {
        const double exchanged = walkers.bytes(), waited_s = walkers.wait_s();
        EXPECT_EQ(walkers.save_functions(1).value().count(), 4u);
        EXPECT_EQ(walkers.bytes(), exchanged);
        EXPECT_EQ(walkers.wait_s(), waited_s);
      }
      walkers.end();
    });
    const double all = 8.0 * 24 * 16 * 16 * 16;  // bins, functions, elements, bytes
    EXPECT_EQ(bytes, (stays ? std::vector<double>(4, all / 4) : std::vector<double>{all, 0, 0, 0}));
    EXPECT_EQ(sent == 0, stays);
  }
}

// A stop within the iteration that measures them, without a place for them: it is repeated, on another number of
// localities.
TEST(DcaDistributed, AnIterationWithDistributedFunctionsIsRepeated) {
  auto o = with_functions();
  const auto alone = solve_alone(o);
  o.distribute = "always";
  std::vector<recorder> stopped(3);
  stopped[0].stops_in_the_last = true;
  EXPECT_TRUE(solve_on(3, o, stopped).stopped);
  const dca_state last = stopped[0].states.back();
  EXPECT_EQ(last.temperature, 0);
  EXPECT_EQ(last.iteration, 1);
  EXPECT_TRUE(last.walkers.empty());
  std::vector<recorder> again(2);
  EXPECT_FALSE(solve_on(2, o, again, &last).stopped);
  again[0].iterations.insert(again[0].iterations.begin(), stopped[0].iterations.begin(), stopped[0].iterations.end());
  expect_same_functions(again[0], alone);
  const auto one = solve_alone(o, &last);
  EXPECT_EQ(one.temperatures[1].four_points[3].lattice.error, alone.temperatures[1].four_points[3].lattice.error);
}

// The checkpoint within an iteration, of a run that does not distribute them, remains the last one.
TEST(DcaDistributed, AStopKeepsTheCheckpointWithinAnIteration) {
  auto o = with_functions();
  const auto alone = solve_alone(o);
  o.distribute = "never";
  o.checkpoint_interval_s = 1e-6;
  std::vector<recorder> paused(2);
  EXPECT_FALSE(solve_on(2, o, paused).stopped);
  const auto& states = paused[0].states;
  const auto within = std::find_if(states.begin(), states.end(),
                                   [](const dca_state& s) { return s.iteration == 1 && !s.walkers.empty(); });
  ASSERT_NE(within, states.end());
  o.distribute = "always";
  std::vector<recorder> stopped(3);
  stopped[0].stops_in_the_last = true;
  EXPECT_TRUE(solve_on(3, o, stopped, &*within).stopped);
  const dca_state last = stopped[0].states.back();
  EXPECT_EQ(last.iteration, 1);
  EXPECT_EQ(last.walkers, within->walkers);
  std::vector<recorder> again(2);
  EXPECT_FALSE(solve_on(2, o, again, &last).stopped);
  again[0].iterations.insert(again[0].iterations.begin(), paused[0].iterations.front());
  expect_same_functions(again[0], alone);
}

// Returns some time after the walkers of this locality have made all measurements of the first temperature, when
// functions of two particles are evaluated.
void wait_for_the_jackknife(const recorder& r, unsigned walkers, std::chrono::microseconds later) {
  const unsigned samples = walkers * 2 * 2 * 8;  // of two iterations, each with two bins
  while (r.walkers->samples < samples) this_thread::sleep_for(std::chrono::microseconds(20));
  this_thread::sleep_for(later);
}

TEST(DcaDistributed, AStopOnAnyLocalityEndsTheJackknife) {
  auto o = with_functions();
  o.temperatures = {1};
  o.distribute = "always";
  for (const unsigned where : {0u, 1u}) {
    std::vector<recorder> all(2);
    net::simulation job({.localities = 2, .seed = 5});
    job.run([&] {
      const team members{communicator("dca")};
      recorder& own = all[members.rank()];
      task_group signals;
      if (members.rank() == where)
        signals.run([&] {
          wait_for_the_jackknife(own, 2, std::chrono::microseconds(500));
          *own.stop = true;
        });
      const auto done = run_dca(o, own, nullptr, members).value();
      EXPECT_EQ(done.stopped, members.rank() == 0) << where;
      signals.wait();
    });
    EXPECT_EQ(all[0].iterations.size(), 1u) << where;
    EXPECT_TRUE(all[0].temperatures.empty()) << where;
    EXPECT_EQ(all[0].states.back().iteration, 1) << where;
  }
}

// Actions that arrive on a locality after it has left the run fail; they do not end the process.
TEST(DcaDistributed, ALossInTheJackknifeEndsTheRunOnTheOthers) {
  auto o = with_functions();
  o.temperatures = {1};
  o.distribute = "always";
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::vector<recorder> all(3);
    std::vector<int> lost(3);
    // Messages are slower than the detection of the loss.
    net::simulation job({.localities = 3,
                         .seed = seed,
                         .delay_min_s = 1e-3,
                         .delay_max_s = 20e-3,
                         .detection_min_s = 1e-4,
                         .detection_max_s = 1e-3});
    job.run([&] {
      const team members{communicator("dca")};
      recorder& own = all[members.rank()];
      task_group kills;
      if (members.rank() == 2)
        kills.run([&] {
          wait_for_the_jackknife(own, 1, std::chrono::milliseconds(100 + 7 * seed));
          job.kill(2);
        });
      try {
        run_dca(o, own, nullptr, members).value();
      } catch (const locality_lost& e) {
        lost[members.rank()] = static_cast<int>(e.first().which());
      }
      kills.wait();
    });
    EXPECT_EQ(lost[0], 2) << seed;
    EXPECT_EQ(lost[1], 2) << seed;
  }
}

// Paused after each measurement, and continued from a state within an iteration on other numbers of localities.
TEST(DcaDistributed, StatesContinueOnAnotherNumber) {
  auto o = small();
  const auto alone = solve_alone(o);
  o.checkpoint_interval_s = 1e-6;
  std::vector<recorder> paused(2);
  EXPECT_FALSE(solve_on(2, o, paused).stopped);
  expect_same_bits(paused[0], alone);
  const auto& states = paused[0].states;
  const auto within = std::find_if(states.begin(), states.end(), [](const dca_state& s) {
    return s.temperature == 0 && s.iteration == 1 && !s.walkers.empty() && s.walkers[0].size() > 1;
  });
  ASSERT_NE(within, states.end());
  o.checkpoint_interval_s = 0;
  const auto one = solve_alone(o, &*within);
  ASSERT_EQ(one.temperatures.size(), 2u);
  EXPECT_EQ(one.temperatures[1].self_energy, alone.temperatures[1].self_energy);
  std::vector<recorder> three(3);
  solve_on(3, o, three, &*within);
  expect_same_bits(three[0], one);
}

TEST(DcaDistributed, AStopOnOneLocalityReachesAll) {
  auto o = small();
  o.measurements = 3000;
  std::vector<recorder> all(3);
  all[0].stop_elsewhere = all[2].stop.get();
  EXPECT_TRUE(solve_on(3, o, all).stopped);
  EXPECT_EQ(all[0].iterations.size(), 1u);
  const dca_state last = all[0].states.back();
  EXPECT_EQ(last.iteration, 1);
  std::vector<recorder> again(2);
  EXPECT_FALSE(solve_on(2, o, again, &last).stopped);
  const auto alone = solve_alone(o);
  ASSERT_EQ(again[0].temperatures.size(), 2u);
  EXPECT_EQ(again[0].temperatures[1].self_energy, alone.temperatures[1].self_energy);
}

}  // namespace
}  // namespace plx::qmc
