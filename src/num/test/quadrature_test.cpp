#include "num/quadrature.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace plx {
namespace {

TEST(GaussLegendre, TwoAndThreePointsMatchTheClosedForms) {
  const auto two = gauss_legendre(2), three = gauss_legendre(3);
  EXPECT_DOUBLE_EQ(two.nodes[1], 1 / std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(two.weights[0], 1);
  EXPECT_DOUBLE_EQ(three.nodes[2], std::sqrt(0.6));
  EXPECT_EQ(three.nodes[1], 0);
  EXPECT_DOUBLE_EQ(three.weights[1], 8.0 / 9);
}

TEST(GaussLegendre, IsExactToDegreeTwoNMinusOneAndNoFurther) {
  for (int n = 1; n <= 40; ++n) {
    const auto rule = gauss_legendre(n);
    for (int degree = 0; degree <= 2 * n - 1; ++degree) {
      const double exact = 1.0 / (degree + 1);
      EXPECT_NEAR(integrate(rule, 0, 1, [&](double x) { return std::pow(x, degree); }), exact, 1e-14) << n;
    }
    const double beyond = integrate(rule, -1, 1, [&](double x) { return std::pow(x, 2 * n); });
    EXPECT_TRUE(n >= 10 || std::abs(beyond - 2.0 / (2 * n + 1)) > 1e-7) << n;
  }
}

TEST(GaussLegendre, NodesMirrorBitwise) {
  for (int n : {4, 7, 32}) {
    const auto rule = gauss_legendre(n);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(rule.nodes[i], -rule.nodes[n - 1 - i]);
      EXPECT_EQ(rule.weights[i], rule.weights[n - 1 - i]);
    }
  }
}

}  // namespace
}  // namespace plx
