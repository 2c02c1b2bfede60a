// A run on several localities (runtimes of this process, connected by queues) is the same to the last bit as on one.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <limits>
#include <mutex>

#include "net/error.hpp"
#include "net/simulation.hpp"
#include "star/refine/regrid.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

TEST(Localities, ABlastIsTheSameToTheLastBit) {
  const outcome one = run_on(1, 2, {});
  ASSERT_GT(one.blocks.size(), 64u);
  for (const unsigned n : {2u, 3u, 4u})
    for (const unsigned workers : {1u, 2u}) {
      SCOPED_TRACE(fmt::format("{} localities of {} workers", n, workers));
      expect_same(run_on(n, workers, {}), one);
    }
}

// This scheme reads ghost cells at edges and corners, too.
TEST(Localities, ABlastWithFull3dIsTheSameToTheLastBit) {
  const std::vector<std::string> sets{"hydro.scheme=full3d", "run.max_steps=6"};
  const outcome one = run_on(1, 2, sets);
  ASSERT_GT(one.blocks.size(), 64u);
  for (const unsigned n : {2u, 3u}) {
    SCOPED_TRACE(fmt::format("{} localities", n));
    expect_same(run_on(n, 2, sets), one);
  }
}

TEST(Localities, BodiesAtMach20ThroughRefinementAndStatesBeyondTheBoundary) {
  const std::string periodic = R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])";
  const std::vector<std::string> body{"problem.name=moving_body",
                                      "mesh.root_blocks=[2,2,2]",
                                      "mesh.lower=[-0.5,-0.5,-0.5]",
                                      "mesh.upper=[0.5,0.5,0.5]",
                                      periodic,
                                      "mesh.max_level=1",
                                      "moving_body.mach=20",
                                      "moving_body.profile=star",
                                      "moving_body.direction=[1,2,-1]",
                                      "refinement.interval=2",
                                      "refinement.regions=[0.0,0.3,-0.5,0.5,-0.5,0.5,1]",
                                      "refinement.gradient_of=[\"rho\"]",
                                      "hydro.pressure_floor=1e-14",
                                      "run.max_steps=6"};
  const std::vector<std::string> reflection{
      "problem.name=double_mach",
      "mesh.root_blocks=[8,2,1]",
      "mesh.lower=[0,0,0]",
      "mesh.upper=[4,1,0.5]",
      R"(mesh.sides=["problem","zero_gradient","problem","problem","periodic","periodic"])",
      "mesh.max_level=1",
      "refinement.interval=2",
      "run.max_steps=6"};
  for (const auto& sets : {body, reflection}) {
    const outcome one = run_on(1, 2, sets);
    EXPECT_EQ(one.error, "");
    for (const unsigned n : {2u, 3u}) expect_same(run_on(n, 2, sets), one);
  }
}

double noise(const mesh::location& l, int seed) {
  std::uint64_t h = 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(seed + 1);
  for (const std::int32_t x : {l.level, l.x[0], l.x[1], l.x[2]}) {
    h ^= static_cast<std::uint64_t>(x) + 1;
    h *= 0xbf58476d1ce4e5b9ULL;
    h ^= h >> 31;
  }
  return static_cast<double>(h >> 11) / (1ULL << 53);
}

// Some regrids with random flags and, with several localities, random partitions: the final values of each block, along
// the curve.
std::vector<std::vector<double>> random_regrids(step::exchange& net, std::int64_t& decisions) {
  const auto in = blast({});
  const setup s = in->prepare().value();
  gas g(s, net);
  worker_scratch scratch(2, s.hydro, 8);
  block_costs costs;
  balancer balance;
  {
    build_initial(g, s, in->refinement, *in->problem, scratch);
    for (const mesh::slot_id slot : g.own()) costs.set(slot, {noise(g.mesh.where(slot), 1), 1.0});
    for (int round = 0; round < 8; ++round) {
      std::vector<mesh::flag> flags(g.mesh.slot_count(), mesh::flag::keep);
      for (const mesh::slot_id slot : g.mesh.blocks()) {
        const double x = noise(g.mesh.where(slot), 10 + round / 2);
        flags[slot] = x < 0.1 ? mesh::flag::refine : x > 0.2 ? mesh::flag::coarsen : mesh::flag::keep;
        balance.set_weight(slot, noise(g.mesh.where(slot), 20 + round));
      }
      regrid(g, s, plan_next_mesh(g, flags, 1, 1000, balance), {scratch, costs, balance});
    }
  }
  decisions = balance.decisions();
  std::vector<std::vector<double>> all(g.mesh.block_count());
  for (const mesh::slot_id slot : g.own()) {
    std::vector<double>& to = all[g.mesh.position(slot)];
    to.assign(g.now.block(slot), g.now.block(slot) + g.now.variable_count() * g.now.cells());
    to.insert(to.end(), {g.signal_rate[slot], costs.of(slot).seconds, costs.of(slot).steps});
  }
  return all;
}

TEST(Localities, BlocksMoveWithAllTheirData) {
  std::int64_t none = 0;
  runtime rt({.workers = 2});
  const auto expected = rt.run([&] { return random_regrids(step::exchange::alone(), none); });
  EXPECT_EQ(none, 0);
  for (const unsigned n : {2u, 3u, 5u}) {
    std::vector<std::vector<double>> found(expected.size());
    std::mutex lock;
    on_each(n, 2, [&](int, step::exchange& net, runtime&) {
      std::int64_t decisions = 0;
      auto mine = random_regrids(net, decisions);
      const std::lock_guard guard(lock);
      EXPECT_GT(decisions, 4);
      ASSERT_EQ(mine.size(), expected.size());
      for (std::size_t p = 0; p < mine.size(); ++p)
        if (!mine[p].empty()) {
          EXPECT_TRUE(found[p].empty()) << "two localities own block " << p;
          found[p] = std::move(mine[p]);
        }
    });
    EXPECT_EQ(found, expected) << n;
  }
}

TEST(Localities, AllReportTheSameCellOfAFailedStep) {
  // A state the floors cannot repair, in a block that one locality owns.
  const auto poison = [](simulation& sim) {
    gas& g = const_cast<gas&>(sim.state());
    const mesh::slot_id block = g.mesh.blocks()[g.mesh.block_count() * 2 / 3];
    if (g.owns(block)) g.now.block(block)[i_energy * 512 + 77] = std::numeric_limits<double>::quiet_NaN();
    refresh_mirrors(g);
  };
  const outcome one = run_on(1, 1, {}, poison);
  EXPECT_NE(one.error.find("a density or pressure that the floors cannot repair"), std::string::npos) << one.error;
  expect_same(run_on(3, 2, {}, poison), one);
}

TEST(Localities, ARequestReachesAllAtTheEndOfTheNextStep) {
  on_each(3, 2, [](int here, step::exchange& net, runtime& rt) {
    const auto in = blast({"mesh.max_level=0"});
    const setup s = in->prepare().value();
    simulation sim(*in, s, rt, net);
    sim.start();
    if (here == 1) sim.wish(4);
    if (here == 2) sim.wish(1);
    ASSERT_TRUE(sim.step());
    EXPECT_EQ(sim.wishes(), 5u);
    ASSERT_TRUE(sim.step());
    EXPECT_EQ(sim.wishes(), 0u);
  });
}

// The network of net/sim delays and reorders messages, and may lose or duplicate them, depending on the seed.
TEST(Localities, ABlastIsTheSameOnAnyNetwork) {
  const std::vector<std::string> few{"mesh.max_level=1", "run.max_steps=4"};
  const outcome one = run_on(1, 1, few);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    outcome all;
    std::vector<outcome> each(3);
    // Delays as long as a stage, so that the localities drift apart and catch up.
    net::simulation job({.localities = 3, .seed = seed, .delay_max_s = 1e-3});
    job.run([&] {
      net::node& here = net::node_here();
      step::exchange net(here);
      const auto in = blast(few);
      const setup s = in->prepare().value();
      simulation sim(*in, s, here.home(), net);
      run_here(sim, each[here.here()], [](simulation&) {});
      all.take(sim);  // only one locality runs at a time
    });
    all.totals = each[0].totals;
    all.numbers = each[0].numbers;
    expect_same(all, one);
  }
}

TEST(Localities, SurvivorsDoNotWaitForALostPeer) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    int reported = 0, steps = 0;
    net::simulation job({.localities = 3,
                         .seed = seed,
                         .delay_max_s = 1e-4,
                         .kills = {{.locality = 1, .earliest_s = 1e-3, .latest_s = 8e-3}}});
    job.run([&] {
      net::node& here = net::node_here();
      step::exchange net(here);
      const auto in = blast({"mesh.max_level=1", "run.max_steps=1000"});
      const setup s = in->prepare().value();
      simulation sim(*in, s, here.home(), net);
      try {
        sim.start();
        while (sim.step()) ++steps;
      } catch (const locality_lost& e) {
        if (here.here() != 1 && e.which() == 1) ++reported;
      }
    });
    EXPECT_EQ(reported, 2) << steps;
  }
}

TEST(Localities, SurvivorsAreNotifiedWhenAPeerIsLost) { expect_notified_of_a_loss({}, 20); }

}  // namespace
}  // namespace plx::star
