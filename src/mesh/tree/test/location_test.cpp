#include "mesh/tree/domain.hpp"

#include <gtest/gtest.h>

namespace {

using namespace plx::mesh;

TEST(Location, ChildrenAndParents) {
  const location l{3, {4, 1, 7}};
  for (int c = 0; c < 8; ++c) {
    const location child = child_of(l, c);
    EXPECT_EQ(parent_of(child), l);
    EXPECT_EQ(child_index(child), c);
  }
}

TEST(Location, DirectionsAreNumberedWithXFastest) {
  EXPECT_EQ(direction_index(0, 0, 0), self_direction);
  for (int d = 0; d < direction_count; ++d) {
    const auto v = direction_of(d);
    EXPECT_EQ(direction_index(v[0], v[1], v[2]), d);
  }
  EXPECT_EQ(direction_of(face_direction(0)), (std::array{-1, 0, 0}));
  EXPECT_EQ(direction_of(face_direction(5)), (std::array{0, 0, 1}));
}

// Bit by bit, following the definition.
std::uint64_t slow_morton(const std::array<std::int32_t, 3>& x) {
  std::uint64_t key = 0;
  for (int bit = 0; bit < 21; ++bit)
    for (int a = 0; a < 3; ++a) key |= static_cast<std::uint64_t>(x[a] >> bit & 1) << (3 * bit + a);
  return key;
}

TEST(Location, MortonInterleaves) {
  std::int32_t seed = 12345;
  const auto next = [&] { return seed = static_cast<std::int32_t>((seed * 1103515245LL + 12345) & 0x1fffff); };
  for (int n = 0; n < 1000; ++n) {
    const std::array<std::int32_t, 3> x{next(), next(), next()};
    EXPECT_EQ(morton(x), slow_morton(x));
  }
}

TEST(Location, CurveVisitsChildrenInOrderInsideTheirParent) {
  const location root{0, {5, 2, 0}};
  location deep = root;
  for (int level = 0; level < deepest_level; ++level) {
    EXPECT_EQ(key_of(child_of(deep, 0)), key_of(deep));
    for (int c = 1; c < 8; ++c) EXPECT_LT(key_of(child_of(deep, c - 1)), key_of(child_of(deep, c)));
    deep = child_of(deep, 7);
    EXPECT_EQ(key_of(deep).tree, key_of(root).tree);
  }
  EXPECT_EQ(key_of(deep).inside, (std::uint64_t{1} << 63) - 1);  // the very last cell of the tree
  EXPECT_LT(key_of(deep), key_of({0, {6, 2, 0}}));
}

}  // namespace
