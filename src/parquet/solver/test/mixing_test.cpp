#include "parquet/solver/mixing.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

// x -> b - a x with eigenvalues of a up to 3: the iteration itself diverges.
int iterations(int history, double damping) {
  runtime rt({.workers = 2, .bind = false});
  return rt.run([&] {
    const int n = 30;
    anderson_mixing mixing({0, 10, 25, 30}, history, damping);
    for (int i = 1; i <= 2000; ++i) {
      auto& x = mixing.input();
      double largest = 0;
      for (int j = 0; j < n; ++j) {
        mixing.residual()[j] = std::complex<double>(1, j) - (0.1 * j + 1) * x[j];
        largest = std::max(largest, std::abs(mixing.residual()[j]));
      }
      if (largest < 1e-9) return i;
      mixing.advance();
    }
    return 2001;
  });
}

TEST(AndersonMixing, HistoryConvergesFaster) {
  EXPECT_EQ(iterations(0, 1), 2001);  // diverges
  const int damped = iterations(0, 0.3), mixed = iterations(6, 0.3);
  EXPECT_LT(damped, 200);
  EXPECT_LT(mixed, damped / 2);
}

TEST(AndersonMixing, CoefficientsMinimizeTheResidual) {
  // r_0 = (1, 0), r_1 = (0, 2): the shortest combination with sum 1 is (0.8, 0.4).
  real_matrix products(2, 2);
  products(0, 0) = 1;
  products(1, 1) = 4;
  for (int base : {0, 1}) {
    const auto c = least_residual(products, base);
    EXPECT_NEAR(c[0], 0.8, 1e-14);
    EXPECT_NEAR(c[1], 0.2, 1e-14);
  }
  products(0, 1) = products(1, 0) = products(1, 1) = 1;  // equal residuals: no direction to choose
  EXPECT_EQ(least_residual(products, 1), (std::vector<double>{0, 1}));
}

}  // namespace
}  // namespace plx::parquet
