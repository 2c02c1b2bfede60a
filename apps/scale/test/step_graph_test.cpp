#include "step_graph.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mesh/between/halo.hpp"
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
  w.task_s = {{"star.stage", 90e-6}, {"star.flux_correction", 10e-6}};
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

// Two blocks, two stages, computed by hand. On two nodes the expensive block B (b) never waits: its stages follow each
// other except for packing (p), sending (s) and receiving (r) the messages of the cheap block A. A waits for the ghosts
// of B of each stage, a flight (f) late; then both exchange a message that they have finished.
TEST(StepGraph, AStepOfTwoBlocksTakesWhatItTakesByHand) {
  workload w;
  w.box.root_blocks = {2, 1, 1};
  w.box.upper = {2.0, 1.0, 1.0};
  w.box.sides.fill(mesh::boundary::outflow);
  w.stages = 2;
  w.variables = 5;
  w.blocks = {{0, {0, 0, 0}}, {0, {1, 0, 0}}};
  const double a = 100e-6, b = 150e-6, p = 7680e-9, s = 2e-6, r = 3e-6, f = 5e-6;
  w.block_s = {2 * a, 2 * b};
  w.part = {0, 1};
  w.costs.step_s = 8e-6, w.costs.handoff_s = 1e-6;
  costs c;
  c.send_s = s, c.receive_s = r, c.send_s_per_byte = 1e-9;  // 3 layers of 64 cells of 5 numbers: 7680 bytes
  c.by_size = {{0.0, 0.0, 0.0, f}};
  const auto seconds = [&](int localities) {
    return test::shared()
        .run(distributed_run(w, localities, {}).stepping(), {.workers = 1, .per_host = localities}, c)
        ->time_s;
  };
  EXPECT_NEAR(seconds(2), 1e-6 + 4e-6 + 2 * (b + p + s) + r + f + r + s + f + r, 1e-12);
  w.part.clear();
  EXPECT_NEAR(seconds(1), 1e-6 + 8e-6 + 2 * a + 2 * b, 1e-12);
}

TEST(StepGraph, PartsThatDoNotFollowTheCurveAreRefused) {
  workload w = small();
  w.part.assign(w.blocks.size(), 0);
  EXPECT_TRUE(check_parts(w, 1));
  EXPECT_FALSE(check_parts(w, 2));  // the second locality has none
  w.part.back() = 1;                // of the refined block's children the last, before others on the curve
  const auto checked = check_parts(w, 2);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("blocks.part: expected localities 0 to 1"), std::string::npos);
}

// Two levels on four localities, counted from the mesh: ghosts per pair of blocks that touch, fluxes per fine face.
TEST(StepGraph, WithoutCoalescingEachPairOfBlocksHasAMessage) {
  workload w = mirrored(small(), {2, 2, 2});
  const mesh::block_mesh m = *mesh_of(w);
  const auto part = [&](mesh::slot_id slot) { return 4 * m.position(slot) / static_cast<int>(m.block_count()); };
  for (std::size_t i = 0; i < w.blocks.size(); ++i) w.part.push_back(part(static_cast<mesh::slot_id>(i)));
  int messages = 0, doubles = 0;
  for (const mesh::slot_id reader : m.blocks()) {
    for (const mesh::slot_id from : m.touching(reader)) messages += part(from) != part(reader);
    for (const mesh::block_box& box : mesh::read_boxes(m, reader))
      if (part(box.slot) != part(reader)) doubles += 5 * box.cells();
    for (const mesh::face_neighbour& coarse : m.coarser_face_neighbours(reader))
      if (part(coarse.slot) != part(reader)) ++messages, doubles += 5 * 16;
  }
  exchange together, separate;
  separate.coalesced = false;
  const traffic a = traffic_of(distributed_run(w, 4, together).stepping());
  const traffic b = traffic_of(distributed_run(w, 4, separate).stepping());
  EXPECT_EQ(b.parts, 3 * messages + 4 * 2);
  EXPECT_DOUBLE_EQ(b.bytes, 3 * 8.0 * doubles + 4 * 2 * separate.agree_bytes + b.parts * separate.header_bytes);
  EXPECT_GT(b.parts, 10 * a.parts);
}

// 2 x 2 x 1 equal root blocks: each of the two localities has a row along x, and each block two readers in the other
// row. The one across the edge reads cells only if stages read edges, all of which the one across the face reads, too.
workload square() {
  workload w;
  w.box.root_blocks = {2, 2, 1};
  w.box.upper = {2.0, 2.0, 1.0};
  w.box.sides.fill(mesh::boundary::outflow);
  w.blocks = {{0, {0, 0, 0}}, {0, {1, 0, 0}}, {0, {0, 1, 0}}, {0, {1, 1, 0}}};
  w.block_s.assign(4, 1e-4);
  w.part = {0, 0, 1, 1};
  return w;
}

TEST(StepGraph, WithoutCoalescingEachReaderGetsItsGhostsInEachStage) {
  workload w = square();
  exchange how;
  for (const bool reads_edges : {false, true}) {
    w.reads_edges = reads_edges;
    const double across_face = 3 * 64 * 5 * 8, across_edge = reads_edges ? 3 * 3 * 8 * 5 * 8 : 0.0;
    how.coalesced = true;
    const traffic together = traffic_of(distributed_run(w, 2, how).stepping());
    EXPECT_EQ(together.parts, 3 * 2 + 2);
    EXPECT_DOUBLE_EQ(together.bytes, 3 * 4 * across_face + 2 * how.agree_bytes + together.parts * how.header_bytes);
    how.coalesced = false;
    const traffic separate = traffic_of(distributed_run(w, 2, how).stepping());
    EXPECT_EQ(separate.parts, 3 * 4 * 2 + 2);
    EXPECT_DOUBLE_EQ(separate.bytes,
                     3 * 4 * (across_face + across_edge) + 2 * how.agree_bytes + separate.parts * how.header_bytes);
  }
}

// The small mesh with gravity: 15 blocks and three refined nodes, of which two are above the root grid. `solves`: of
// the four in a step, those that are not skipped. A block is measured with its shares of the refined nodes above it.
workload small_star(int solves = 4) {
  workload w = small();
  w.gravity.emplace();
  w.gravity->constant = 1.0;
  w.gravity->order = 3;
  w.task_s = {
      {"star.stage", 80e-6},           {"star.flux_correction", 10e-6},     {"star.gravity.accelerations", 40e-6},
      {"star.gravity.moments", 5e-6},  {"star.gravity.interactions", 7e-6}, {"star.gravity.translations", 2e-6},
      {"star.gravity.node_sums", 1e-6}};
  const double refined = solves * (5e-6 + 7e-6 + 2e-6 + 1e-6);       // the refined root block
  const double above = solves * (5e-6 + 2e-6 + 1e-6 + 5e-6 + 1e-6);  // the top has no parent
  w.block_s.assign(15, 2 * 80e-6 + solves * 40e-6 + above / 15);
  for (const std::size_t i : {0, 1, 3}) w.block_s[i] += 3 * 10e-6;   // beside the refined one
  for (std::size_t i = 7; i < 15; ++i) w.block_s[i] += refined / 8;  // below it
  return w;
}

int tasks_of(const work_graph& g, double seconds) {
  int count = 0;
  for (node_id n = 0; n < g.size(); ++n) count += std::abs(g[n].work_s - seconds) < 1e-12;
  return count;
}

// A pass that waits for nothing continues the task before: the nodes above the root grid have no neighbours, so their
// moments and interactions are one task, called moments; the top has no parent.
TEST(StepGraph, GravityIsSolvedFourTimesPerStepOnBlocksAndRefinedNodes) {
  for (const int n : {1, 2, 3, 15}) {
    const work_graph g = distributed_run(small_star(), n, {}).stepping();
    EXPECT_EQ(tasks_of(g, 5e-6), 4 * 3) << n;
    EXPECT_EQ(tasks_of(g, 7e-6), 4 * 1) << n;  // the other refined nodes have no neighbours
    EXPECT_EQ(tasks_of(g, 2e-6), 4 * 2) << n;
    EXPECT_EQ(tasks_of(g, 1e-6), 4 * 3) << n;
    EXPECT_EQ(tasks_of(g, 40e-6), 4 * 15) << n;
    EXPECT_NEAR(work_of(g), small_star().stepping_s(), 1e-12) << n;
  }
}

// Twice the measured time of the blocks below the refined root block is twice the time of these blocks and of that
// node, and of the nodes above the root grid in proportion.
TEST(StepGraph, MeasuredTimesAreDividedBetweenBlocksAndTheNodesAboveThem) {
  workload w = small_star();
  for (std::size_t i = 7; i < 15; ++i) w.block_s[i] *= 2.0;
  const work_graph g = distributed_run(w, 2, {}).stepping();
  EXPECT_EQ(tasks_of(g, 14e-6), 4);              // interactions
  EXPECT_EQ(tasks_of(g, 80e-6), 8 * 4 + 7 * 2);  // accelerations there, stages elsewhere
  EXPECT_EQ(tasks_of(g, (8 * 2 + 7) / 15.0 * 5e-6), 2 * 4);
  EXPECT_NEAR(work_of(g), w.stepping_s(), 1e-12);
}

// If the gravity of the step before is still valid, the first of the four solves takes nothing.
TEST(StepGraph, ASolveThatIsSkippedTakesNothing) {
  workload w = small_star(3);
  w.carried = 1.0;
  const work_graph all = distributed_run(small_star(), 2, {}).stepping(), g = distributed_run(w, 2, {}).stepping();
  EXPECT_EQ(tasks_of(g, 5e-6), 3 * 3);
  EXPECT_EQ(tasks_of(g, 2e-6), 3 * 2);
  EXPECT_NEAR(work_of(g), w.stepping_s(), 1e-12);
  EXPECT_EQ(g.size(), all.size());
  EXPECT_EQ(traffic_of(g).bytes, traffic_of(all).bytes);
}

// Two root blocks, each of one locality, and the nodes above them: the lower one of levels -1 and -2 belongs to the
// first. Four solves: masses each way, sums up, corrections down, the expansions of the parent down. Three stages:
// ghosts and potentials each way. And a message each way to agree.
TEST(StepGraph, GravitySendsMassesSumsExpansionsAndPotentials) {
  workload w;
  w.box.root_blocks = {2, 1, 1};
  w.box.upper = {2.0, 1.0, 1.0};
  w.box.sides.fill(mesh::boundary::outflow);
  w.blocks = {{0, {0, 0, 0}}, {0, {1, 0, 0}}};
  w.block_s = {1e-3, 1e-3};
  w.part = {0, 1};
  w.gravity.emplace();
  w.gravity->constant = 1.0;
  w.gravity->order = 3;
  const exchange how;
  const traffic t = traffic_of(distributed_run(w, 2, how).stepping());
  constexpr int moments = 16;  // of order 3
  const double masses = 512 * 8, expansions = moments * 512 * 8, sums = 16 * 8, corrections = 9 * 8,
               potentials = 512 * 8, ghosts = 3 * 64 * 5 * 8;
  EXPECT_EQ(t.messages, 4 * (2 + 1 + 1 + 1) + 3 * (2 + 2) + 2);
  EXPECT_DOUBLE_EQ(t.bytes, 4 * (2 * masses + expansions + sums + corrections) + 6 * (ghosts + potentials) +
                                2 * how.agree_bytes + t.messages * how.header_bytes);
}

// The node above the four blocks of the square belongs to the first locality, as the one above it. A block's masses
// have two readers in the other row, and those of the second row the node, too.
TEST(StepGraph, WithoutCoalescingEachReaderGetsAllValuesOfANode) {
  workload w = square();
  w.gravity.emplace();
  w.gravity->constant = 1.0;
  w.gravity->order = 3;
  exchange how;
  how.coalesced = false;
  const traffic t = traffic_of(distributed_run(w, 2, how).stepping());
  constexpr int moments = 16, masses = 2 * 2 + 2 * 3, expansions = 2, sums = 2, corrections = 2, potentials = 4 * 2;
  EXPECT_EQ(t.parts, 4 * (masses + expansions + sums + corrections) + 3 * (potentials + 4 * 2) + 2);
  EXPECT_DOUBLE_EQ(t.bytes, 8 * (4 * (masses * 512 + expansions * moments * 512 + sums * 16 + corrections * 9) +
                                 3 * (potentials * 512 + 4 * 3 * 64 * 5)) +
                                2 * how.agree_bytes + t.parts * how.header_bytes);
}

// No message costs and an ideal network: only the work, evenly distributed, and waiting for whole tasks remain.
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
  EXPECT_EQ(traffic_of(distributed_run(w, 1, {}).changing()).messages, 0);
  // Every locality plans the whole new mesh, also one that is alone.
  for (const int localities : {1, 2, 3}) {
    workload planned = w;
    planned.costs.plan_s = 5e-6;
    const double plans = work_of(distributed_run(planned, localities, {}).changing()) -
                         work_of(distributed_run(w, localities, {}).changing());
    EXPECT_NEAR(plans, localities * 15 * 5e-6, 1e-12) << localities;
  }
  // The ghosts each way, and two messages to agree.
  exchange large;
  large.group_bytes = 1u << 30;
  const traffic ghosts = traffic_of(distributed_run(w, 2, large).changing());
  EXPECT_EQ(ghosts.messages, 2 + 2);
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
