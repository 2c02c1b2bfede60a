#include "mesh/tree/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "mesh/test/test_meshes.hpp"

namespace {

using namespace plx::mesh;

// Meshes of several levels on root grids of all shapes.
std::vector<block_mesh> random_meshes() {
  std::mt19937_64 rng(5);
  std::vector<block_mesh> all;
  for (const std::array<int, 3> roots : {std::array{1, 1, 1}, {3, 2, 1}, {4, 4, 4}, {5, 1, 2}})
    for (const int n : {8, 16})
      for (const boundary sides : {boundary::outflow, boundary::periodic})
        all.push_back(test::random_mesh(test::box(roots, n, 4, sides), 8, rng));
  return all;
}

location where(const block_mesh& mesh, const tree& t, node_id n) {
  return t.is_refined(n) ? t.where(n) : mesh.where(n);
}

std::vector<node_id> all_nodes(const block_mesh& mesh, const tree& t) {
  std::vector<node_id> all(mesh.blocks().begin(), mesh.blocks().end());
  for (std::size_t i = 0; i < t.refined_count(); ++i) all.push_back(t.refined(i));
  return all;
}

auto key(const location& l) { return std::tuple(l.level, l.x[0], l.x[1], l.x[2]); }

// Parents and children agree with the locations, only the top has no parent, and children come before their parents.
TEST(Tree, LinksEachNodeToItsParent) {
  for (const block_mesh& mesh : random_meshes()) {
    const tree t(mesh);
    std::size_t linked = 0;
    for (std::size_t i = 0; i < t.refined_count(); ++i) {
      const node_id node = t.refined(i);
      int first = static_cast<int>(mesh.block_count());
      std::vector<node_id> there;
      for (int c = 0; c < 8; ++c) {
        const node_id child = t.children(node)[static_cast<std::size_t>(c)];
        if (child == no_slot) continue;
        EXPECT_EQ(where(mesh, t, child), child_of(t.where(node), c));
        EXPECT_EQ(t.parent(child), node);
        EXPECT_TRUE(!t.is_refined(child) || child < node);
        first = std::min(first, t.is_refined(child) ? t.position(child) : mesh.position(child));
        there.push_back(child);
      }
      const auto list = t.child_list(node);
      EXPECT_EQ(std::vector<node_id>(list.begin(), list.end()), there);
      EXPECT_TRUE(there.size() == 8 || t.where(node).level < 0);
      EXPECT_GT(there.size(), 0u);
      EXPECT_EQ(t.position(node), first);
      linked += there.size();
    }
    const node_id top = t.refined(t.refined_count() - 1);
    for (const node_id n : all_nodes(mesh, t)) {
      EXPECT_EQ(t.parent(n) == no_slot, n == top);
      EXPECT_EQ(t.parents(n).empty(), n == top);
    }
    EXPECT_EQ(linked + 1, mesh.block_count() + t.refined_count());
    EXPECT_EQ(t.coarsest(), t.where(top).level);
  }
}

// The deepest level first, along the curve within a level.
TEST(Tree, NumbersRefinedNodesByLevelAndPosition) {
  for (const block_mesh& mesh : random_meshes()) {
    const tree t(mesh);
    for (std::size_t i = 1; i < t.refined_count(); ++i) {
      const node_id a = t.refined(i - 1), b = t.refined(i);
      EXPECT_TRUE(t.where(a).level > t.where(b).level ||
                  (t.where(a).level == t.where(b).level && t.position(a) < t.position(b)));
    }
  }
}

// The domain extends over at most four cells of the top, and over more of the level below it.
TEST(Tree, EndsAtTheFirstLevelOfWhichTheDomainHasFourCells) {
  for (const block_mesh& mesh : random_meshes()) {
    const tree t(mesh);
    const auto& roots = mesh.box().root_blocks;
    const double cells = *std::max_element(roots.begin(), roots.end()) * mesh.block_size();
    const double width = 1 << -t.coarsest();
    EXPECT_LE(cells / width, 4.0);
    EXPECT_GT(cells / width * 2.0, 4.0);
    EXPECT_EQ(t.where(t.refined(t.refined_count() - 1)).x, (std::array{0, 0, 0}));
  }
  EXPECT_EQ(top_level(test::box({1, 1, 1}, 8, 0)), -1);
  EXPECT_EQ(top_level(test::box({1, 1, 1}, 16, 0)), -2);
  EXPECT_EQ(top_level(test::box({5, 1, 2}, 8, 0)), -4);
}

// The location beside another one, which may be outside of the domain; through a periodic boundary the node that is
// there: it begins a whole number of periods away. Lengths are in root blocks.
bool wrap(const domain& d, location& l) {
  for (int a = 0; a < 3; ++a) {
    const double width = std::ldexp(1.0, -l.level), period = d.root_blocks[a];
    double first = l.x[a] * width;
    if (first >= 0.0 && first < period) continue;
    if (!d.is_periodic(a)) return false;
    first -= std::floor(first / period) * period;
    if (std::fmod(first, width) != 0.0) return false;
    l.x[a] = static_cast<std::int32_t>(first / width);
  }
  return true;
}

// All nodes of the level at a distance of at most one location along each axis, found by search.
TEST(Tree, KnowsTheNodesOfTheSameLevelAround) {
  for (const block_mesh& mesh : random_meshes()) {
    const tree t(mesh);
    std::map<std::tuple<int, int, int, int>, node_id> at;
    for (const node_id n : all_nodes(mesh, t)) at[key(where(mesh, t, n))] = n;
    EXPECT_EQ(at.size(), mesh.block_count() + t.refined_count());
    for (const node_id n : all_nodes(mesh, t)) {
      std::vector<node_id> expected;
      for (int d = 0; d < direction_count; ++d) {
        location l = where(mesh, t, n);
        for (std::size_t a = 0; a < 3; ++a) l.x[a] += direction_of(d)[a];
        const auto found = wrap(mesh.box(), l) ? at.find(key(l)) : at.end();
        const node_id there = found == at.end() ? no_slot : found->second;
        ASSERT_EQ(t.around(n)[static_cast<std::size_t>(d)], there) << n << " " << d;
        if (there != n && there != no_slot && std::find(expected.begin(), expected.end(), there) == expected.end())
          expected.push_back(there);
      }
      const auto list = t.level_neighbours(n);
      EXPECT_EQ(std::vector<node_id>(list.begin(), list.end()), expected);
    }
  }
}

TEST(Tree, AFreeSlotHasNothingAround) {
  const domain d = test::box({1, 1, 1}, 8, 0);
  const block_mesh mesh(d, {{{0, {0, 0, 0}}, 2, 0}});
  const tree t(mesh);
  for (const node_id free : {0, 1}) {
    EXPECT_EQ(t.parent(free), no_slot);
    EXPECT_TRUE(t.level_neighbours(free).empty());
  }
  EXPECT_EQ(t.parent(2), 3);
  EXPECT_EQ(t.node_count(), 4u);
}

}  // namespace
