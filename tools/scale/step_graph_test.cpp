#include "step_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "test_platform.hpp"

namespace plx::scale {
namespace {

using mesh::location;

// 2 x 2 x 2 root blocks of 8^3, the one at the origin refined: 15 blocks, 12 of them without finer neighbours.
workload small(double block_s = 300e-6) {
  workload w;
  w.box.root_blocks = {2, 2, 2};
  w.box.upper = {2.0, 2.0, 2.0};
  w.box.max_level = 1;
  w.box.sides.fill(mesh::boundary::outflow);
  for (int i = 1; i < 8; ++i) w.blocks.push_back({0, {i & 1, i >> 1 & 1, i >> 2}});
  for (int i = 0; i < 8; ++i) w.blocks.push_back({1, {i & 1, i >> 1 & 1, i >> 2}});
  w.block_s.assign(w.blocks.size(), block_s);
  w.costs.correction_s = 10e-6;
  return w;
}

double work_of(const work_graph& g) {
  double sum = 0.0;
  for (node_id n = 0; n < g.size(); ++n) sum += g[n].work_s;
  return sum;
}

struct traffic {
  int messages = 0, parts = 0;
  double bytes = 0.0;
};
traffic traffic_of(const work_graph& g) {
  traffic t;
  for (node_id n = 0; n < g.size(); ++n)
    if (g[n].kind == node_kind::message) ++t.messages, t.parts += g[n].parts, t.bytes += g[n].bytes;
  return t;
}

TEST(StepGraph, HasTheMeasuredWorkOnceOnAnyNumberOfLocalities) {
  const workload w = small();
  for (const int n : {1, 2, 3, 15})
    for (const bool coalesced : {true, false}) {
      exchange how;
      how.coalesced = coalesced;
      EXPECT_NEAR(work_of(distributed_run(w, n, how).stepping()), w.stepping_s(), 1e-12) << n;
    }
}

TEST(StepGraph, EveryBlockHasItsStagesAndCoarseOnesTheirCorrections) {
  const workload w = small();
  const work_graph g = distributed_run(w, 1, {}).stepping();
  int stages = 0, corrections = 0;
  for (node_id n = 0; n < g.size(); ++n) {
    if (std::abs(g[n].work_s - 10e-6) < 1e-12) ++corrections;
    if (g[n].work_s > 80e-6) ++stages;
  }
  EXPECT_EQ(stages, 3 * 15);
  EXPECT_EQ(corrections, 3 * 3);  // the three blocks across faces of the refined one
}

TEST(StepGraph, OneLocalityOfOneWorkerTakesTheSumOfItsWork) {
  const workload w = small();
  const replayed r = *test::shared().run(distributed_run(w, 1, {}).stepping(), {}, {});
  EXPECT_NEAR(r.time_s, w.stepping_s(), 1e-9);
  EXPECT_EQ(r.messages, 0u);
}

// 8 x 1 x 1 equal root blocks on two localities: between them one pair of blocks, so per stage one message each way of
// three layers of 8 x 8 cells, then two messages of the reduction.
TEST(StepGraph, GhostsHaveTheBytesOfTheirCells) {
  workload w;
  w.box.root_blocks = {8, 1, 1};
  w.box.upper = {8.0, 1.0, 1.0};
  w.box.sides.fill(mesh::boundary::outflow);
  for (int i = 0; i < 8; ++i) w.blocks.push_back({0, {i, 0, 0}});
  w.block_s.assign(8, 1e-4);
  exchange how;
  for (const bool coalesced : {true, false}) {
    how.coalesced = coalesced;
    const traffic t = traffic_of(distributed_run(w, 2, how).stepping());
    EXPECT_EQ(t.messages, 3 * 2 + 2);
    EXPECT_DOUBLE_EQ(t.bytes, 6 * 3 * 64 * 5 * 8 + 2 * how.agree_bytes + 8 * how.header_bytes);
  }
}

TEST(StepGraph, WithoutCoalescingThereAreMoreMessagesAndNoFewerBytes) {
  const workload w = mirrored(small(), {2, 2, 2});
  exchange together, separate;
  separate.coalesced = false;
  const traffic a = traffic_of(distributed_run(w, 4, together).stepping());
  const traffic b = traffic_of(distributed_run(w, 4, separate).stepping());
  EXPECT_GT(b.parts, 10 * a.parts);
  EXPECT_GE(b.bytes, a.bytes);
}

// No cost of messages and a network of nothing: what is left is the work, spread evenly, and waiting for whole tasks.
TEST(StepGraph, WithAFreeNetworkManyLocalitiesAreAsGoodAsManyWorkers) {
  workload w = mirrored(small(), {4, 4, 2});
  exchange how;
  const double one = w.stepping_s();
  double before = one;
  for (const int n : {2, 4, 8}) {
    work_graph g = distributed_run(w, n, how).stepping();
    for (node_id i = 0; i < g.size(); ++i) g.at(i).bytes = 0.0;
    const replayed r = *test::shared().run(g, {}, {});
    EXPECT_GE(r.time_s, one / n - 1e-9);
    EXPECT_LE(r.time_s, one / n + 4 * 300e-6 / 3 + 60 * test::latency_s) << n;
    EXPECT_LT(r.time_s, before);
    EXPECT_NEAR(r.use.sum(), n * r.time_s, 1e-9);
    before = r.time_s;
  }
}

TEST(StepGraph, SummingAndLookingHaveTheirWork) {
  workload w = small();
  w.costs.totals_s = 2e-6, w.costs.look_s = 3e-6, w.costs.rebuild_s = 1e-6, w.costs.root_s = 1e-3;
  const distributed_run run(w, 3, {});
  EXPECT_NEAR(work_of(run.summing()), 15 * 2e-6 + 1e-3, 1e-12);
  EXPECT_NEAR(work_of(run.looking()), 15 * 3e-6 + 3 * 15 * 1e-6, 1e-12);
}

TEST(StepGraph, JitterKeepsTheWorkAndTheSeedDecides) {
  workload w = mirrored(small(), {4, 4, 4});
  w.costs.jitter = 0.2;
  exchange how, other;
  other.seed = 2;
  const double a = work_of(distributed_run(w, 2, how).stepping()), b = work_of(distributed_run(w, 2, other).stepping());
  EXPECT_NEAR(a / w.stepping_s(), 1.0, 0.02);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, work_of(distributed_run(w, 2, how).stepping()));
}

}  // namespace
}  // namespace plx::scale
