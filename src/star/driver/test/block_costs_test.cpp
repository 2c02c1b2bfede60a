#include "star/driver/balancer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/test/timeout_test.hpp"
#include "probe/record/names.hpp"
#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/runtime.hpp"
#include "star/driver/simulation.hpp"
#include "step/node_graph.hpp"

namespace plx::star {
namespace {

constexpr mesh::family one{.parent = 0, .children = {1, 2, 3, 4, 5, 6, 7, 8}};

TEST(BlockCosts, CountsStepsOfLiveBlocks) {
  block_costs costs;
  costs.stepped(std::array<mesh::slot_id, 2>{0, 3});
  costs.stepped(std::array<mesh::slot_id, 1>{3});
  EXPECT_EQ(costs.of(0).steps, 1.0);
  EXPECT_EQ(costs.of(3).steps, 2.0);
  EXPECT_EQ(costs.of(1).steps, 0.0);
  EXPECT_EQ(costs.of(99).steps, 0.0);
  costs.clear();
  EXPECT_EQ(costs.of(3).steps, 0.0);
}

// Half of the steps as a parent, half as a child: the block was advanced by 4/8 + 4 steps.
TEST(BlockCosts, ARefinedBlockKeepsItsShare) {
  block_costs costs;
  for (int i = 0; i < 4; ++i) costs.stepped(std::array<mesh::slot_id, 1>{0});
  costs.move(std::array{one}, {});
  EXPECT_EQ(costs.of(0).steps, 0.0);
  for (int i = 0; i < 4; ++i) costs.stepped(one.children);
  for (const mesh::slot_id child : one.children) EXPECT_EQ(costs.of(child).steps, 4.5);
}

TEST(BlockCosts, AMergedBlockHasTheSumOfItsChildren) {
  block_costs costs;
  costs.stepped(one.children);
  costs.move({}, std::array{one});
  EXPECT_EQ(costs.of(0).steps, 8.0);
  EXPECT_EQ(costs.of(1).steps, 0.0);
}

// A task of `seconds` on a node.
void spend(probe::recorder& r, mesh::node_id node, double seconds) {
  static const probe::name_id name = probe::register_name("block_costs_test");
  r.worker(0).record({name, static_cast<std::uint64_t>(node), 100, 100 + ticks_from(seconds), true});
}

// 2 x 2 x 2 root blocks, of which these are refined.
mesh::block_mesh mesh_with(std::initializer_list<mesh::slot_id> refined) {
  mesh::domain d;
  d.root_blocks = {2, 2, 2};
  d.max_level = 1;
  const mesh::block_mesh roots(d);
  std::vector<mesh::flag> flags(roots.slot_count(), mesh::flag::keep);
  for (const mesh::slot_id slot : refined) flags[slot] = mesh::flag::refine;
  return mesh::plan_regrid(roots, flags, 1).next;
}

TEST(BlockCosts, CollectsSecondsByKeyOnce) {
  const mesh::block_mesh m = mesh_with({});
  const mesh::curve_parts parts = equal_parts(m, 1);
  const step::node_graph nodes(m, parts, 0, false);
  probe::recorder recorder(1);
  spend(recorder, 5, 1.0);
  spend(recorder, 8, 1.0);  // no node of this mesh
  block_costs costs;
  costs.collect(recorder, nodes);
  costs.collect(recorder, nodes);
  EXPECT_NEAR(costs.of(5).seconds, 1.0, 1e-6);
  EXPECT_EQ(costs.of(8).seconds, 0.0);
  costs.move(std::array{mesh::family{.parent = 5, .children = {10, 11, 12, 13, 14, 15, 16, 17}}}, {});
  EXPECT_NEAR(costs.of(17).seconds, 0.125, 1e-6);
}

// The first and the last root block are refined: positions 0 to 7 and 14 to 21 of the curve. Refined nodes: these two,
// and two above the root grid.
TEST(BlockCosts, TheTimeOfARefinedNodeGoesToTheBlocksBelowIt) {
  const mesh::block_mesh m = mesh_with({0, 7});
  ASSERT_EQ(m.block_count(), 22u);
  const mesh::curve_parts whole = equal_parts(m, 1);
  const step::node_graph nodes(m, whole, 0, true);
  ASSERT_EQ(nodes.tree().refined_count(), 4u);
  probe::recorder recorder(1);
  spend(recorder, m.blocks()[3], 100.0);
  spend(recorder, nodes.tree().refined(0), 16.0);
  spend(recorder, nodes.tree().refined(1), 8.0);
  spend(recorder, nodes.tree().refined(3), 11.0);
  block_costs costs;
  costs.collect(recorder, nodes);
  const auto at = [&](int position) { return costs.of(m.blocks()[position]).seconds; };
  for (const int p : {0, 1, 2, 4, 5, 6, 7}) EXPECT_NEAR(at(p), 2.0 + 0.5, 1e-6) << p;
  EXPECT_NEAR(at(3), 100.0 + 2.0 + 0.5, 1e-6);
  for (int p = 8; p < 14; ++p) EXPECT_NEAR(at(p), 0.5, 1e-6) << p;
  for (int p = 14; p < 22; ++p) EXPECT_NEAR(at(p), 1.0 + 0.5, 1e-6) << p;
}

// The first locality has four of the eight blocks below its refined node, and the nodes above the root grid.
TEST(BlockCosts, ALocalityChargesItsNodesToItsOwnBlocks) {
  const mesh::block_mesh m = mesh_with({0, 7});
  std::vector<std::int32_t> owner(22, 1);
  std::fill_n(owner.begin(), 4, 0);
  const mesh::curve_parts parts(owner, 2);
  for (const int here : {0, 1}) {
    const step::node_graph nodes(m, parts, here, true);
    probe::recorder recorder(1);
    double spent = 0.0;
    for (const mesh::node_id node : nodes.local())
      if (!nodes.is_block(node)) spend(recorder, node, 4.0), spent += 4.0;
    EXPECT_EQ(spent, here == 0 ? 12.0 : 4.0);
    block_costs costs;
    costs.collect(recorder, nodes);
    double sum = 0.0;
    for (const mesh::slot_id slot : parts.blocks(m, here)) sum += costs.of(slot).seconds;
    EXPECT_NEAR(sum, spent, 1e-6);
    for (const mesh::slot_id slot : parts.blocks(m, 1 - here)) EXPECT_EQ(costs.of(slot).seconds, 0.0);
    const mesh::slot_id first = m.blocks()[here == 0 ? 0 : 14];
    EXPECT_NEAR(costs.of(first).seconds, here == 0 ? 3.0 : 0.5, 1e-6);
  }
}

// A star on two levels: the costs are all that the passes of the steps have taken.
TEST(BlockCosts, WithGravityAllWorkOfTheStepsIsCharged) {
  auto in = input::from_text(
      "[problem]\nname = \"sedov\"\n", "t",
      {"mesh.root_blocks=[2,2,2]", "mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]", "mesh.max_level=1",
       "gravity.self=true", "gravity.constant=1", "gravity.order=3", "gravity.theta=0.5", "run.max_steps=2",
       "refinement.regions=[-0.4,-0.1,-0.4,-0.1,-0.4,-0.1,1]", "refinement.gradient_of=[]"});
  ASSERT_TRUE(in) << in.error().message;
  const setup s = in.value()->prepare().value();
  runtime rt({.workers = 2});
  simulation sim(*in.value(), s, rt);
  sim.start();
  ASSERT_GT(sim.state().mesh.deepest(), 0);
  while (!sim.finished()) ASSERT_TRUE(sim.step());
  // A worker records its last slice when the step has returned.
  ASSERT_TRUE(comes_true([&] { return rt.get_scheduler().active_workers() == 0; }));
  sim.collect_costs();
  double charged = 0.0, passes = 0.0, on_refined = 0.0;
  for (const mesh::slot_id slot : sim.state().own()) charged += sim.costs().of(slot).seconds;
  for (const probe::task_statistics& t : rt.recorder().tasks()) {
    const bool is_gravity = t.name.starts_with("star.gravity.");
    if (is_gravity || t.name == "star.stage" || t.name == "star.flux_correction") passes += t.total_s;
    if (t.name == "star.gravity.moments" || t.name == "star.gravity.interactions") on_refined += t.total_s;
  }
  EXPECT_GT(on_refined, 0.0);
  EXPECT_NEAR(charged, passes, 1e-6 * passes);
}

}  // namespace
}  // namespace plx::star
