#include "mesh/tree/block_mesh.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "mesh/test/test_meshes.hpp"

namespace {

using namespace plx::mesh;
using testing::HasSubstr;

// The region of one direction around a block, as a location of its own level; false if it is outside.
bool region_of(const domain& d, const location& l, const std::array<int, 3>& dir, location& region) {
  region = l;
  for (int a = 0; a < 3; ++a) {
    region.x[a] += dir[a];
    const auto n = static_cast<std::int32_t>(d.blocks_along(a, l.level));
    if (region.x[a] < 0 || region.x[a] >= n) {
      if (!d.is_periodic(a)) return false;
      region.x[a] = (region.x[a] + n) % n;
    }
  }
  return true;
}

bool contains(const location& outer, const location& inner) {
  if (outer.level > inner.level) return false;
  for (int a = 0; a < 3; ++a)
    if (inner.x[a] >> (inner.level - outer.level) != outer.x[a]) return false;
  return true;
}

// Checks around(slot, dir) against a search of all leaves.
void check_neighbour(const block_mesh& mesh, slot_id slot, int direction) {
  const auto dir = direction_of(direction);
  const neighbour& n = mesh.around(slot, direction);
  const location& own = mesh.where(slot);
  location region;
  if (!region_of(mesh.box(), own, dir, region)) {
    EXPECT_EQ(n.kind, relation::side);
    EXPECT_EQ(n.count, 0);
    return;
  }
  std::vector<slot_id> finer;
  for (const slot_id s : mesh.blocks()) {
    const location& l = mesh.where(s);
    if (contains(l, region)) {
      EXPECT_EQ(n.kind, l.level == own.level ? relation::same : relation::coarser);
      EXPECT_LE(own.level - l.level, 1);
      EXPECT_EQ(n.count, 1);
      EXPECT_EQ(n.slots[0], s);
      return;
    }
    if (!contains(region, l)) continue;
    bool touches = true;
    for (int a = 0; a < 3; ++a) {
      const std::int32_t parts = 1 << (l.level - region.level), first = region.x[a] * parts;
      if (dir[a] != 0 && l.x[a] != (dir[a] < 0 ? first + parts - 1 : first)) touches = false;
    }
    if (touches) finer.push_back(s);
  }
  EXPECT_EQ(n.kind, relation::finer);
  ASSERT_EQ(n.count, finer.size());
  for (std::size_t i = 0; i < finer.size(); ++i) {
    EXPECT_EQ(mesh.level(finer[i]), own.level + 1);
    EXPECT_EQ(n.slots[i], finer[i]);  // the curve visits the halves in the order of the table
  }
}

void check_lists(const block_mesh& mesh, slot_id slot) {
  std::set<slot_id> touching;
  for (const slot_id s : mesh.blocks())
    if (s != slot && test::meet(mesh.box(), mesh.where(slot), mesh.where(s))) touching.insert(s);
  const auto listed = mesh.touching(slot);
  EXPECT_TRUE(std::equal(listed.begin(), listed.end(), touching.begin(), touching.end()));
  int finer = 0, coarser = 0;
  for (int f = 0; f < face_count; ++f) {
    finer += mesh.across(slot, f).kind == relation::finer ? 4 : 0;
    if (mesh.across(slot, f).kind == relation::coarser) {
      const face_neighbour n = mesh.coarser_face_neighbours(slot)[coarser++];
      EXPECT_EQ(n.face, f);
      EXPECT_EQ(n.slot, mesh.across(slot, f).slots[0]);
    }
  }
  EXPECT_EQ(mesh.finer_face_count(slot), finer);
  EXPECT_EQ(mesh.coarser_face_neighbours(slot).size(), static_cast<std::size_t>(coarser));
}

class RandomMesh : public testing::TestWithParam<std::tuple<std::array<int, 3>, boundary, int>> {};

TEST_P(RandomMesh, NeighboursAreThoseOfASearchThroughAllLeaves) {
  const auto [roots, sides, seed] = GetParam();
  std::mt19937_64 rng(seed);
  domain d = test::box(roots, 8, 4, sides);
  if (seed % 2 == 1) d.sides[2] = d.sides[3] = boundary::periodic;
  const block_mesh mesh = test::random_mesh(d, 12, rng);
  for (const slot_id s : mesh.blocks()) {
    for (int dir = 0; dir < direction_count; ++dir)
      if (dir != self_direction) check_neighbour(mesh, s, dir);
    check_lists(mesh, s);
    EXPECT_EQ(mesh.find(mesh.where(s)), s);
    EXPECT_EQ(mesh.find_covering(child_of(child_of(mesh.where(s), 5), 2)), s);
    if (mesh.level(s) > 0) {
      EXPECT_EQ(mesh.find_covering(parent_of(mesh.where(s))), no_slot);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Boxes, RandomMesh,
    testing::Combine(testing::Values(std::array{1, 1, 1}, std::array{2, 1, 3}, std::array{3, 2, 2}),
                     testing::Values(boundary::periodic, boundary::reflecting), testing::Values(1, 2)));

// 2 * 1023 * 2^21 does not fit into 32 bits.
TEST(BlockMesh, TheDeepestLevelOfTheLargestRootGridIsPeriodic) {
  domain d = test::box({1023, 1, 1}, 8, deepest_level, boundary::reflecting);
  d.sides[0] = d.sides[1] = boundary::periodic;
  std::vector<leaf> leaves;
  for (std::int32_t x = 1; x < 1022; ++x) leaves.push_back({{0, {x, 0, 0}}});
  // Towards the two ends of the row, which meet through the periodic boundaries, level by level.
  location ends[2];
  for (const int end : {0, 1}) {
    location& inner = ends[end] = {0, {end * 1022, 0, 0}};
    for (int level = 1; level <= deepest_level; ++level) {
      for (int c = 0; c < 8; ++c)
        if (c != end) leaves.push_back({child_of(inner, c)});
      inner = child_of(inner, end);
    }
    leaves.push_back({inner});
  }
  const auto mesh = block_mesh::from_leaves(d, leaves);
  ASSERT_TRUE(mesh) << mesh.error().message;
  const neighbour& last = mesh->across(mesh->find(ends[1]), 1);
  EXPECT_EQ(last.kind, relation::same);
  EXPECT_EQ(last.slots[0], mesh->find(ends[0]));
  EXPECT_EQ(mesh->across(mesh->find(ends[0]), 0).slots[0], mesh->find(ends[1]));
}

TEST(BlockMesh, RootGridFollowsTheCurve) {
  const block_mesh mesh(test::box({3, 2, 2}, 8, 0));
  ASSERT_EQ(mesh.block_count(), 12u);
  for (std::size_t p = 0; p < 12; ++p) {
    EXPECT_EQ(mesh.blocks()[p], static_cast<slot_id>(p));
    EXPECT_EQ(mesh.position(static_cast<slot_id>(p)), static_cast<int>(p));
    if (p > 0) {
      EXPECT_LT(key_of(mesh.where(mesh.blocks()[p - 1])), key_of(mesh.where(mesh.blocks()[p])));
    }
  }
  EXPECT_EQ(mesh.find({0, {3, 0, 0}}), no_slot);
  EXPECT_EQ(mesh.find({0, {0, -1, 0}}), no_slot);
}

TEST(BlockMesh, GeometryOfABlock) {
  domain d = test::box({2, 2, 2}, 8, 3);
  d.lower = {-1, -1, -1};
  d.upper = {1, 1, 1};
  std::vector<location> leaves;
  const block_mesh roots(d);
  for (const slot_id s : roots.blocks()) leaves.push_back(roots.where(s));
  test::split(leaves, 7);
  std::mt19937_64 rng(1);
  const block_mesh mesh = test::mesh_of(d, leaves, rng);
  const slot_id last = mesh.find({1, {3, 3, 3}});
  ASSERT_NE(last, no_slot);
  EXPECT_EQ(mesh.cell_width(last), 1.0 / 16);
  EXPECT_EQ(mesh.lower(last), (std::array{0.5, 0.5, 0.5}));
  EXPECT_EQ(mesh.centre(last, 1, 0), 0.5 + 1.0 / 32);
  EXPECT_EQ(mesh.centre(last, 1, 9), 1.0 + 3.0 / 32);
  EXPECT_EQ(mesh.deepest(), 1);
}

TEST(BlockMesh, RefusesInvalidLeaves) {
  const domain d = test::box({2, 1, 1}, 8, 5);
  const auto attempt = [&](const std::vector<location>& locations) {
    std::vector<leaf> leaves;
    for (const location& l : locations) leaves.push_back({l, no_slot, 0});
    return block_mesh::from_leaves(d, leaves);
  };
  const auto message = [](const auto& r) { return r ? std::string() : r.error().message; };
  std::vector<location> good{{0, {0, 0, 0}}, {0, {1, 0, 0}}};
  ASSERT_EQ(message(attempt(good)), "");
  test::split(good, 0);
  ASSERT_EQ(message(attempt(good)), "");
  auto gap = good;
  gap.erase(gap.begin() + 4);
  EXPECT_THAT(attempt(gap).error().message, HasSubstr("gap"));
  auto overlap = good;
  overlap.push_back(child_of(overlap.back(), 3));
  EXPECT_THAT(attempt(overlap).error().message, HasSubstr("overlap"));
  EXPECT_THAT(attempt({{0, {0, 0, 0}}}).error().message, HasSubstr("cover 1 of 2 root blocks"));
  EXPECT_THAT(attempt({{0, {0, 0, 0}}, {0, {2, 0, 0}}}).error().message, HasSubstr("outside"));
  test::split(good, 1);
  test::split(good, good.size() - 8);
  ASSERT_FALSE(test::balanced(d, good));
  EXPECT_THAT(attempt(good).error().message, HasSubstr("2:1"));
}

TEST(BlockMesh, DeepestLevel) {
  const domain d = test::box({1, 1, 1}, 8, deepest_level);
  std::vector<location> leaves{{0, {0, 0, 0}}};
  for (int level = 0; level < deepest_level; ++level) {
    const auto deepest = std::max_element(leaves.begin(), leaves.end(), [](const location& a, const location& b) {
      return std::tuple(a.level, a.x) < std::tuple(b.level, b.x);
    });
    test::split(leaves, static_cast<std::size_t>(deepest - leaves.begin()));
    test::balance(d, leaves);
  }
  std::mt19937_64 rng(1);
  const block_mesh mesh = test::mesh_of(d, leaves, rng);
  EXPECT_EQ(mesh.deepest(), deepest_level);
  for (const slot_id s : mesh.blocks()) EXPECT_EQ(mesh.find(mesh.where(s)), s);
}

}  // namespace
