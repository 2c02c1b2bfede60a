#include "star/driver/balancer.hpp"

#include <gtest/gtest.h>

#include <array>

#include "probe/record/names.hpp"
#include "probe/record/recorder.hpp"

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

TEST(BlockCosts, CollectsSecondsByKeyOnce) {
  probe::recorder recorder(1);
  const probe::name_id name = probe::register_name("block_costs_test");
  const ticks second = ticks_from(1.0);
  recorder.worker(0).record({name, 5, 100, 100 + second, true});
  block_costs costs;
  costs.collect(recorder);
  costs.collect(recorder);
  EXPECT_NEAR(costs.of(5).seconds, 1.0, 1e-6);
  costs.move(std::array{mesh::family{.parent = 5, .children = {10, 11, 12, 13, 14, 15, 16, 17}}}, {});
  EXPECT_NEAR(costs.of(17).seconds, 0.125, 1e-6);
}

}  // namespace
}  // namespace plx::star
