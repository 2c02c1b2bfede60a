#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::prepared;

double amplitude(const std::vector<double>& u, const box& b) {
  std::complex<double> sum = 0;
  for (int k = 0; k < b.n(); ++k) {
    for (int j = 0; j < b.n(); ++j) {
      for (int i = 0; i < b.n(); ++i) {
        const double angle = 2 * std::numbers::pi * (i + 0.5) / b.n();
        sum += u[2 * b.size() + b.at(i, j, k)] * std::polar(1.0, -angle);
      }
    }
  }
  return std::abs(sum);
}

TEST(KelvinHelmholtz, ExactSolutionGrowsAtTheReferenceRate) {
  const auto p = prepared("kelvin_helmholtz", {"kelvin_helmholtz.amplitude=1e-4"});
  const auto rate = p->references(0);
  ASSERT_EQ(rate[0].name, "growth_rate");
  EXPECT_NEAR(rate[0].value, 1.964, 1e-3);  // Mach 0.5; 2.7 without compression
  const box b(16);
  EXPECT_NEAR(std::log(amplitude(b.fill(*p, 0.5), b) / amplitude(b.fill(*p, 0), b)) / 0.5, rate[0].value, 1e-3);
  EXPECT_TRUE(p->has_exact(0.5));
  EXPECT_FALSE(p->has_exact(10));
}

TEST(KelvinHelmholtz, MirrorImageThroughTheMiddleIsTheProblemItself) {
  const auto p = prepared("kelvin_helmholtz");
  const box b(16);
  const auto u = b.fill(*p);
  for (int k = 0; k < 16; ++k) {
    for (int j = 0; j < 16; ++j) {
      for (int i = 0; i < 16; ++i) {
        for (const int v : {0, 1, 2, 4}) {
          const double sign = v == 1 || v == 2 ? -1 : 1;
          ASSERT_EQ(u[v * b.size() + b.at(i, j, k)], sign * u[v * b.size() + b.at(15 - i, 15 - j, k)]) << v;
        }
      }
    }
  }
}

TEST(KelvinHelmholtz, StableLayersAreRefusedWithTheProblemsName) {
  auto p = make_problem("kelvin_helmholtz").value();
  config_table table;
  p->describe(table);
  table.set("kelvin_helmholtz.thickness=0.3").value();
  const auto r = p->prepare({});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message.find("kelvin_helmholtz"), 0u);
}

}  // namespace
}  // namespace plx::star
