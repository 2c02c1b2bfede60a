#include "mesh/field/symmetric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace {

using namespace plx::mesh;

double sum_cube(const std::array<double, 8>& c) { return sum8(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]); }

// Corner n of the cube after axis a reads old axis p[a], flipped where the bit of `flip` is set.
int turned(int n, const std::array<int, 3>& p, int flip) {
  int old = 0;
  for (int a = 0; a < 3; ++a) old |= (n >> a & 1) << p[a];
  return old ^ flip;
}

std::array<double, 8> random_values(std::mt19937_64& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::array<double, 8> c;
  for (double& x : c) x = uniform(rng) * std::pow(10.0, uniform(rng) * 3);
  return c;
}

TEST(Symmetric, SumOfACubeDoesNotDependOnItsOrientation) {
  std::mt19937_64 rng(1);
  bool plain_sum_differs = false;
  for (int n = 0; n < 2000; ++n) {
    const auto c = random_values(rng);
    std::array<int, 3> p{0, 1, 2};
    do {
      for (int flip = 0; flip < 8; ++flip) {
        std::array<double, 8> t;
        double plain = 0, turned_plain = 0;
        for (int m = 0; m < 8; ++m) t[m] = c[turned(m, p, flip)];
        for (int m = 0; m < 8; ++m) plain += c[m], turned_plain += t[m];
        ASSERT_EQ(sum_cube(c), sum_cube(t));
        plain_sum_differs = plain_sum_differs || plain != turned_plain;
      }
    } while (std::next_permutation(p.begin(), p.end()));
    std::array<double, 8> negative;
    for (int m = 0; m < 8; ++m) negative[m] = -c[m];
    ASSERT_EQ(sum_cube(negative), -sum_cube(c));
  }
  EXPECT_TRUE(plain_sum_differs);  // otherwise the test checks nothing
}

TEST(Symmetric, SumOfASquareAndOfThreeAxes) {
  std::mt19937_64 rng(2);
  for (int n = 0; n < 2000; ++n) {
    const auto c = random_values(rng);
    const double s = sum4(c[0], c[1], c[2], c[3]);
    ASSERT_EQ(s, sum4(c[1], c[0], c[3], c[2]));
    ASSERT_EQ(s, sum4(c[2], c[3], c[0], c[1]));
    ASSERT_EQ(s, sum4(c[0], c[2], c[1], c[3]));
    std::array<double, 3> t{c[4], c[5], c[6]};
    const double three = sum3(t[0], t[1], t[2]);
    EXPECT_NEAR(three, t[0] + t[1] + t[2], 1e-12 * (std::abs(t[0]) + std::abs(t[1]) + std::abs(t[2])));
    std::sort(t.begin(), t.end());
    do ASSERT_EQ(three, sum3(t[0], t[1], t[2]));
    while (std::next_permutation(t.begin(), t.end()));
    ASSERT_EQ(sum3(-t[0], -t[1], -t[2]), -three);
  }
}

TEST(Symmetric, SumsAreSums) {
  EXPECT_EQ(sum8(1, 2, 4, 8, 16, 32, 64, 128), 255);
  EXPECT_EQ(sum8(128, 64, 32, 16, 8, 4, 2, 1), 255);
  EXPECT_EQ(sum8(1, 1, 1, 1, 1, 1, 1, 1), 8);
  EXPECT_EQ(sum4(1, 2, 4, 8), 15);
  EXPECT_EQ(sum3(1, 2, 4), 7);
  EXPECT_EQ(sum3(2, 2, 4), 8);
}

}  // namespace
