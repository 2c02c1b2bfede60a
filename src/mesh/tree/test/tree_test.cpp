#include "mesh/tree/tree.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "mesh/test/test_meshes.hpp"

namespace {

using namespace plx::mesh;

// Parents and children agree with the locations, every block has a root, and children come before their parents.
TEST(Tree, LinksEachNodeToItsParent) {
  std::mt19937_64 rng(5);
  for (int turn = 0; turn < 10; ++turn) {
    const block_mesh mesh = test::random_mesh(test::box({2, 1, 3}, 8, 4, boundary::outflow), 12, rng);
    const tree t(mesh);
    const auto where = [&](node_id n) { return t.is_refined(n) ? t.where(n) : mesh.where(n); };
    std::size_t linked = 0;
    for (std::size_t i = 0; i < t.refined_count(); ++i) {
      const node_id node = t.refined(i);
      for (int c = 0; c < 8; ++c) {
        const node_id child = t.children(node)[static_cast<std::size_t>(c)];
        EXPECT_EQ(where(child), child_of(t.where(node), c));
        EXPECT_EQ(t.parent(child), node);
        EXPECT_TRUE(!t.is_refined(child) || child < node);
        ++linked;
      }
      location first = t.where(node);
      while (mesh.find(first) == no_slot) first = child_of(first, 0);
      EXPECT_EQ(t.position(node), mesh.position(mesh.find(first)));
    }
    std::size_t roots = 0;
    for (const slot_id slot : mesh.blocks()) {
      node_id n = slot;
      while (t.parent(n) != no_slot) n = t.parent(n);
      EXPECT_EQ(where(n).level, 0);
      roots += t.parent(slot) == no_slot;
    }
    for (std::size_t i = 0; i < t.refined_count(); ++i) roots += t.parent(t.refined(i)) == no_slot;
    EXPECT_EQ(roots, 6u);
    EXPECT_EQ(linked + roots, mesh.block_count() + t.refined_count());
  }
}

TEST(Tree, OfTheRootGridHasNoRefinedNodes) {
  const block_mesh mesh(test::box({2, 2, 2}, 8, 0, boundary::periodic));
  const tree t(mesh);
  EXPECT_EQ(t.refined_count(), 0u);
  EXPECT_EQ(t.node_count(), 8u);
  EXPECT_EQ(t.parent(3), no_slot);
}

}  // namespace
