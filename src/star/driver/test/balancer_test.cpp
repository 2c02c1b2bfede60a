#include "star/driver/balancer.hpp"

#include <gtest/gtest.h>

#include "probe/record/names.hpp"
#include "probe/record/recorder.hpp"
#include "step/node_graph.hpp"

namespace plx::star {
namespace {

constexpr std::size_t block_bytes = 24576;

// Sixteen blocks in a row, in two equal parts.
struct Balancer : testing::Test {
  static mesh::domain box() {
    mesh::domain d;
    d.root_blocks = {16, 1, 1};
    d.upper = {16.0, 1.0, 1.0};
    d.max_level = 1;
    return d;
  }
  void weigh(const std::vector<double>& seconds) {
    for (std::size_t p = 0; p < seconds.size(); ++p) balance.set_weight(m.blocks()[p], seconds[p]);
  }

  mesh::block_mesh m{box()};
  mesh::curve_parts held = equal_parts(m, 2);
  balancer balance;
};

TEST_F(Balancer, EqualBlocksStay) {
  weigh(std::vector<double>(16, 1.0));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(balance.decide(m, held, block_bytes, 100), held);
  EXPECT_DOUBLE_EQ(balance.imbalance(), 1.0);
  EXPECT_EQ(balance.decisions(), 0);
}

TEST_F(Balancer, ExpensiveBlocksAreDistributed) {
  std::vector<double> cost(16, 1.0);
  for (int p = 0; p < 4; ++p) cost[p] = 3.0;  // loads 16 and 8: better 12 and 12
  weigh(cost);
  const mesh::curve_parts better = balance.decide(m, held, block_bytes, 1);
  EXPECT_EQ(better.end(0), 4);
  EXPECT_NEAR(balance.imbalance(), 16.0 / 12.0, 1e-12);
  EXPECT_EQ(balance.decisions(), 1);
}

TEST_F(Balancer, BlocksStayUntilTheImbalanceHasCostMoreThanMoving) {
  std::vector<double> cost(16, 1e-4);
  cost[0] = 9e-4;
  weigh(cost);  // loads 16e-4 and 8e-4: one step loses nearly 4e-4, and a move takes at least 1e-3
  EXPECT_EQ(balance.decide(m, held, block_bytes, 1), held);
  EXPECT_EQ(balance.decide(m, held, block_bytes, 1), held);
  const mesh::curve_parts better = balance.decide(m, held, block_bytes, 1);
  EXPECT_NE(better, held);
  EXPECT_EQ(balance.decide(m, better, block_bytes, 1), better);
}

TEST_F(Balancer, MeasurementNoiseMovesNothing) {
  std::vector<double> cost(16, 1.0);
  cost[0] = 1.1;
  weigh(cost);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(balance.decide(m, held, block_bytes, 100), held);
}

TEST_F(Balancer, NewBlocksInheritWeights) {
  weigh(std::vector<double>(16, 2.0));
  balance.carry(std::vector<mesh::family>{{.parent = 3, .children = {20, 21, 22, 23, 24, 25, 26, 27}}}, {});
  EXPECT_EQ(balance.weight(20), 2.0);
  EXPECT_EQ(balance.weight(27), 2.0);
  balance.set_weight(27, 10.0);
  balance.carry({}, std::vector<mesh::family>{{.parent = 40, .children = {20, 21, 22, 23, 24, 25, 26, 27}}});
  EXPECT_EQ(balance.weight(40), 3.0);
}

TEST(InheritedParts, FamiliesStayTogetherAtTheOwnerOfTheFirst) {
  mesh::domain d = Balancer::box();
  d.root_blocks = {2, 1, 1};
  d.upper = {2.0, 1.0, 1.0};
  const mesh::block_mesh roots(d);
  const mesh::regrid_plan finer = mesh::plan_regrid(roots, std::vector<mesh::flag>(2, mesh::flag::refine), 1);
  EXPECT_EQ(inherited_parts(finer, roots, equal_parts(roots, 2)), equal_parts(finer.next, 2));
  // A partition that divides the first family: the merged block goes to the locality of its first child.
  const mesh::curve_parts cut(std::vector<std::int32_t>{0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2}, 3);
  const mesh::regrid_plan coarser =
      mesh::plan_regrid(finer.next, std::vector<mesh::flag>(finer.next.slot_count(), mesh::flag::coarsen), 1);
  ASSERT_EQ(coarser.merged.size(), 2u);
  EXPECT_EQ(inherited_parts(coarser, finer.next, cut), mesh::curve_parts(std::vector<std::int32_t>{0, 1}, 3));
}

// One of the costs is like that of an interrupted task.
TEST(BalancerMeasures, OutliersHaveLittleWeight) {
  auto in = input::from_text("[problem]\nname = \"sedov\"\n", "t", {"mesh.root_blocks=[2,2,2]"});
  const setup s = in.value()->prepare().value();
  const gas g(s);
  const step::node_graph nodes(g.mesh, g.parts, 0, false);
  balancer balance;
  block_costs costs;
  const auto spend = [&](double first) {
    probe::recorder recorder(1);
    const probe::name_id name = probe::register_name("balancer_test");
    for (const mesh::slot_id slot : g.own())
      recorder.worker(0).record({name, static_cast<std::uint64_t>(slot), 0, ticks_from(slot == 0 ? first : 1.0), true});
    costs.collect(recorder, nodes);
    costs.stepped(g.own());
    balance.measure(g, costs);
  };
  spend(1.0);
  EXPECT_NEAR(balance.weight(0), 1.0, 1e-6);
  spend(1000.0);
  EXPECT_NEAR(balance.weight(0), 1.5, 1e-6);
  EXPECT_NEAR(balance.weight(1), 1.0, 1e-6);
  for (int i = 0; i < 50; ++i) spend(10.0);
  EXPECT_NEAR(balance.weight(0), 10.0, 1e-3);
  balance.measure(g, costs);  // nothing new
  EXPECT_NEAR(balance.weight(0), 10.0, 1e-3);
}

}  // namespace
}  // namespace plx::star
