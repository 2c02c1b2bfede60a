#include "qmc/test/chi_squared.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace plx::qmc::test {
namespace {

TEST(ChiSquared, ClosedForms) {
  EXPECT_NEAR(chi_squared_p_value(3, 2), std::exp(-1.5), 1e-14);
  EXPECT_NEAR(chi_squared_p_value(30, 4), std::exp(-15) * 16, 1e-18);
  EXPECT_NEAR(chi_squared_p_value(1, 1), std::erfc(std::sqrt(0.5)), 1e-14);
  double sum = 0, term = std::exp(-40);  // even degrees: a sum of Poisson probabilities
  for (int k = 0; k < 40; ++k) {
    sum += term;
    term *= 40.0 / (k + 1);
  }
  EXPECT_NEAR(chi_squared_p_value(80, 80), sum, 1e-13);
  EXPECT_EQ(chi_squared_p_value(0, 3), 1);
}

}  // namespace
}  // namespace plx::qmc::test
