#include "parquet/run/extrapolation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace plx::parquet {
namespace {

TEST(Extrapolation, IsExactForInverseSquares) {
  const std::vector<int> n = {4, 6, 8};
  std::vector<double> v;
  for (int i : n) v.push_back(3 + 5.0 / (i * i));
  const auto e = extrapolated(n, v);
  EXPECT_NEAR(e.value, 3, 1e-13);
  EXPECT_LT(e.error, 1e-13);
  EXPECT_NEAR(extrapolated(std::span(n).first(2), std::span(v).first(2)).error, 5.0 / 36, 1e-13);
  EXPECT_TRUE(std::isinf(extrapolated(std::span(n).first(1), std::span(v).first(1)).error));
}

TEST(Extrapolation, ErrorCoversHigherOrders) {
  const std::vector<int> n = {4, 6, 8};
  std::vector<double> v;
  for (int i : n) v.push_back(3 + 5.0 / (i * i) + 10.0 / std::pow(i, 4));
  const auto e = extrapolated(n, v);
  EXPECT_GT(e.error, std::abs(e.value - 3));
  EXPECT_LT(e.error, 4 * std::abs(e.value - 3));
}

}  // namespace
}  // namespace plx::parquet
