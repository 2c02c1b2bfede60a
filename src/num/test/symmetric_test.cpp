#include "num/symmetric.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace plx {
namespace {

TEST(SymmetricSum, KeepsBitsUnderPermutationAndSign) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int i = 0; i < 10000; ++i) {
    std::array<double, 3> t{uniform(random), uniform(random), i % 3 == 0 ? 1e-8 : uniform(random)};
    if (i % 5 == 0) t[1] = -t[0];  // ties in magnitude
    const double sum = symmetric_sum(t[0], t[1], t[2]);
    EXPECT_NEAR(sum, t[0] + t[1] + t[2], 5e-16);
    EXPECT_EQ(symmetric_sum(-t[0], -t[1], -t[2]), -sum);
    EXPECT_EQ(symmetric_sum(t[1], t[2], t[0]), sum);
    EXPECT_EQ(symmetric_sum(t[2], t[0], t[1]), sum);
    EXPECT_EQ(symmetric_sum(t[1], t[0], t[2]), sum);
    EXPECT_EQ(symmetric_sum(t[2], t[1], t[0]), sum);
    EXPECT_EQ(symmetric_sum(t[0], t[2], t[1]), sum);
  }
}

TEST(SymmetricSum, NormIsTheNorm) { EXPECT_EQ(symmetric_norm2(1, -2, 3), 14); }

}  // namespace
}  // namespace plx
