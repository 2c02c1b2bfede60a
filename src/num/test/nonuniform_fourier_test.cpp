#include "num/nonuniform_fourier.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace plx {
namespace {

TEST(NonuniformFourier, AgreesWithTheDirectSum) {
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<double> place(-1, 1);
  for (int n_frequencies : {1, 2, 16, 100}) {
    const nonuniform_fourier plan(n_frequencies);
    std::vector<double> grid(plan.grid_size(), 0.0);
    std::vector<std::complex<double>> direct(n_frequencies), fast(n_frequencies);
    double size = 0;
    for (int j = 0; j < 200; ++j) {
      // The ends of the interval and of grid cells too.
      const double x = j == 0 ? 0 : j == 1 ? -0.5 : j == 2 ? std::nextafter(1, 0) : j == 3 ? -1e-17 : place(engine);
      const double c = place(engine);
      plan.spread(x, c, grid.data());
      size += std::abs(c);
      for (int n = 0; n < n_frequencies; ++n) direct[n] += c * std::polar(1.0, std::numbers::pi * (2 * n + 1) * x);
    }
    plan.transform(grid, fast);
    for (int n = 0; n < n_frequencies; ++n)
      EXPECT_LT(std::abs(fast[n] - direct[n]), 5e-7 * size) << n_frequencies << " " << n;
  }
}

TEST(NonuniformFourier, OnePointIsExactToTheStatedAccuracy) {
  const nonuniform_fourier plan(64);
  double worst = 0;
  for (int k = 0; k < 500; ++k) {
    const double x = -0.999 + 0.004 * k;
    std::vector<double> grid(plan.grid_size(), 0.0);
    std::vector<std::complex<double>> out(64);
    plan.spread(x, 1, grid.data());
    plan.transform(grid, out);
    for (int n = 0; n < 64; ++n)
      worst = std::max(worst, std::abs(out[n] - std::polar(1.0, std::numbers::pi * (2 * n + 1) * x)));
  }
  EXPECT_LT(worst, 5e-7);
}

}  // namespace
}  // namespace plx
