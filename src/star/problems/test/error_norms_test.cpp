#include "star/problems/test/error_norms.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::prepared;

TEST(ErrorNorms, OfTheExactAveragesAreZero) {
  const auto p = prepared("sod");
  const box b(8);
  error_norms e(*p);
  e.add_block(b.cells(), 0.1, b.fill(*p, 0.1).data());
  EXPECT_EQ(e.l1(0), 0);
  EXPECT_EQ(e.largest(4), 0);
  EXPECT_NEAR(e.volume(), 1, 1e-15);
}

TEST(ErrorNorms, OfAKnownDifferenceAreTheKnownOnes) {
  const auto p = prepared("advection");
  const box b(8);
  auto u = b.fill(*p);
  for (std::size_t c = 0; c < b.size(); ++c) u[c] += c % 2 == 0 ? 0.25 : -0.25;
  u[i_energy * b.size() + 7] += 2;
  error_norms e(*p);
  e.add_block(b.cells(), 0, u.data());
  EXPECT_DOUBLE_EQ(e.l1(0), 0.25);
  EXPECT_DOUBLE_EQ(e.l2(0), 0.25);
  EXPECT_DOUBLE_EQ(e.largest(0), 0.25);
  EXPECT_DOUBLE_EQ(e.l1(i_energy), 2.0 / 512);
  EXPECT_DOUBLE_EQ(e.l2(i_energy), std::sqrt(4.0 / 512));
  EXPECT_DOUBLE_EQ(e.l1_all(), std::hypot(0.25, 2.0 / 512));
}

TEST(ErrorNorms, DoNotDependOnTheOrderOfBlocks) {
  const auto p = prepared("kelvin_helmholtz");
  const box a(8), b(12, 0.3);
  auto u = a.fill(*p), v = b.fill(*p);
  for (double& x : u) x *= 1.01;
  for (double& x : v) x *= 0.97;
  error_norms together(*p), first(*p), second(*p);
  together.add_block(a.cells(), 0, u.data());
  together.add_block(b.cells(), 0, v.data());
  first.add_block(b.cells(), 0, v.data());
  second.add_block(a.cells(), 0, u.data());
  first.merge(second);
  for (int variable = 0; variable < 5; ++variable) {
    EXPECT_EQ(together.l1(variable), first.l1(variable));
    EXPECT_EQ(together.l2(variable), first.l2(variable));
    EXPECT_EQ(together.largest(variable), first.largest(variable));
  }
}

TEST(ErrorNorms, PassOnNaN) {
  const auto p = prepared("sod");
  const box b(8);
  auto u = b.fill(*p);
  u[3] = std::nan("");
  error_norms e(*p);
  e.add_block(b.cells(), 0, u.data());
  EXPECT_TRUE(std::isnan(e.l1(0)));
}

}  // namespace
}  // namespace plx::star
