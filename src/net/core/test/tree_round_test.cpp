#include "net/core/tree_round.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

namespace {

using namespace plx;
using net::living_tree;
using net::round_number;
using net::tree_round;

TEST(PowerOfTwoNeighbours, ReachEachOtherInFewHops) {
  EXPECT_TRUE(net::power_of_two_neighbours(0, 1).empty());
  EXPECT_EQ(net::power_of_two_neighbours(1, 2), (std::vector<locality_id>{0}));
  EXPECT_EQ(net::power_of_two_neighbours(5, 16), (std::vector<locality_id>{1, 3, 4, 6, 7, 9, 13}));
  for (const unsigned n : {2u, 3u, 5u, 16u, 48u, 100u, 512u}) {
    std::vector<unsigned> hops(n, n);
    std::vector<locality_id> reached{0};
    hops[0] = 0;
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const locality_id other : net::power_of_two_neighbours(reached[i], n)) {
        EXPECT_NE(other, reached[i]);
        if (hops[other] != n) continue;
        hops[other] = hops[reached[i]] + 1;
        reached.push_back(other);
      }
    EXPECT_EQ(reached.size(), n);
    EXPECT_LE(*std::max_element(hops.begin(), hops.end()), (static_cast<unsigned>(std::bit_width(n - 1)) + 1) / 2) << n;
  }
}

/// Checks that the tree connects all localities that are not in `lost`.
void check_tree(unsigned n, const std::vector<locality_id>& lost) {
  const living_tree t(n, lost);
  const auto living = n - static_cast<unsigned>(lost.size());
  const auto doublings = static_cast<unsigned>(std::bit_width(living - 1));
  unsigned in_tree = 1;
  for (locality_id i = 0; i < n; ++i) {
    EXPECT_EQ(t.has(i), std::find(lost.begin(), lost.end(), i) == lost.end());
    if (!t.has(i)) continue;
    const auto children = t.children_of(i);
    EXPECT_LE(children.size(), doublings);
    in_tree += static_cast<unsigned>(children.size());
    for (const locality_id c : children) {
      ASSERT_TRUE(t.has(c));
      EXPECT_EQ(t.parent_of(c), i);
    }
    unsigned hops = 0;
    for (locality_id at = i; t.parent_of(at) != no_locality; at = t.parent_of(at)) {
      EXPECT_LT(t.parent_of(at), at);
      ++hops;
    }
    EXPECT_LE(hops, doublings);
  }
  EXPECT_EQ(in_tree, living);
  EXPECT_TRUE(t.has(t.root()));
}

TEST(LivingTree, ConnectsTheLivingLocalitiesInLogarithmicallyManyHops) {
  for (const unsigned n : {1u, 2u, 3u, 7u, 8u, 64u, 100u}) check_tree(n, {});
  check_tree(8, {0});
  check_tree(8, {4, 5});
  check_tree(8, {0, 1, 2, 3, 4, 5, 6});
  std::mt19937 draw(1);
  for (int k = 0; k < 100; ++k) {
    const unsigned n = 1 + draw() % 70;
    std::vector<locality_id> lost;
    for (locality_id i = 0; i < n && lost.size() + 1 < n; ++i)
      if (draw() % 3 == 0) lost.push_back(i);
    check_tree(n, lost);
  }
}

TEST(LivingTree, TheSubtreeOfARankAreItsNextOnes) {
  const living_tree t(8);
  EXPECT_EQ(t.children_of(0), (std::vector<locality_id>{4, 2, 1}));
  EXPECT_EQ(t.children_of(4), (std::vector<locality_id>{6, 5}));
  EXPECT_EQ(living_tree(8, {0, 5}).children_of(1), (std::vector<locality_id>{6, 3, 2}));
}

TEST(LivingTree, ListsThatAreNotOfLostLocalitiesAreDetected) {
  const auto sound = [](std::vector<locality_id> lost) { return living_tree::sound(lost, 4); };
  EXPECT_TRUE(sound({}));
  EXPECT_TRUE(sound({0, 1, 3}));
  EXPECT_FALSE(sound({0, 1, 2, 3}));
  EXPECT_FALSE(sound({1, 1}));
  EXPECT_FALSE(sound({2, 1}));
  EXPECT_FALSE(sound({4}));
}

TEST(TreeRound, TakesOneAnswerOfEachChildInTheCurrentRound) {
  tree_round r(0, 4);
  const round_number first{};
  EXPECT_FALSE(r.complete());
  EXPECT_TRUE(r.take_reply(first, 2));
  EXPECT_FALSE(r.take_reply(first, 2));
  EXPECT_FALSE(r.take_reply(first, 3));  // a child of 2
  EXPECT_TRUE(r.take_reply(first, 1));
  EXPECT_TRUE(r.complete());
  r.repeat();
  EXPECT_FALSE(r.complete());
  EXPECT_FALSE(r.take_reply({0, 1}, 1));
  EXPECT_TRUE(r.take_reply(first, 1));
  r.begin({0, 2}, living_tree(4, {2}));  // 3 was a child of 2
  EXPECT_FALSE(r.take_reply(first, 1));
  EXPECT_TRUE(r.take_reply({0, 2}, 1));
  EXPECT_FALSE(r.complete());
  EXPECT_TRUE(r.take_reply({0, 2}, 3));
  EXPECT_TRUE(r.complete());
}

TEST(TreeRound, TheRoundsOfALaterRootAreLater) {
  EXPECT_LT((round_number{0, 100}), (round_number{1, 1}));
  EXPECT_LT((round_number{1, 1}), (round_number{1, 2}));
}

}  // namespace
