#include "mesh/tree/block_mesh.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using plx::mesh::cut_curve;

TEST(CurveCut, EqualCostsGiveEqualParts) {
  const std::vector<double> cost(12, 0.25);
  EXPECT_EQ(cut_curve(cost, 3), (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(cut_curve(std::vector<double>(4, 0.0), 2), (std::vector<std::int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(cut_curve(cost, 1), std::vector<std::int32_t>(12, 0));
  EXPECT_TRUE(cut_curve({}, 3).empty());
}

TEST(CurveCut, NoPartIsEmptyIfThereAreEnoughBlocks) {
  EXPECT_EQ(cut_curve(std::vector<double>{100, 1, 1, 1}, 4), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(cut_curve(std::vector<double>{1, 1, 1, 100}, 4), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(cut_curve(std::vector<double>{1, 1}, 4), (std::vector<std::int32_t>{0, 1}));
}

TEST(CurveCut, PartsAreConsecutiveAndBalancedToOneBlock) {
  std::mt19937_64 rng(4);
  std::uniform_real_distribution<double> uniform(0.5, 2.0);
  for (int n = 0; n < 100; ++n) {
    std::vector<double> cost(50 + rng() % 200);
    double total = 0;
    for (double& c : cost) total += c = uniform(rng);
    const int parts = 1 + static_cast<int>(rng() % 20);
    const auto owner = cut_curve(cost, parts);
    std::vector<double> sum(parts, 0.0);
    for (std::size_t p = 0; p < cost.size(); ++p) {
      sum[owner[p]] += cost[p];
      if (p > 0) {
        ASSERT_TRUE(owner[p] == owner[p - 1] || owner[p] == owner[p - 1] + 1);
      }
    }
    EXPECT_EQ(owner.front(), 0);
    EXPECT_EQ(owner.back(), parts - 1);
    for (const double s : sum) EXPECT_NEAR(s, total / parts, 2.0);
  }
}

}  // namespace
