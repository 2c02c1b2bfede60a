#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

struct fraction_range {
  double smallest = 1.0, largest = 0.0, worst_sum = 0.0;
};

fraction_range range_of(test_block& b) {
  fraction_range r;
  const int n = b.n(), n_species = b.parameters().n_species;
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        double sum = 0.0;
        for (int s = 0; s < n_species; ++s) {
          const double x = b.at(i_species + s, i, j, k) / b.at(i_density, i, j, k);
          sum += x, r.smallest = std::min(r.smallest, x), r.largest = std::max(r.largest, x);
        }
        r.worst_sum = std::max(r.worst_sum, std::abs(sum - 1.0));
      }
  return r;
}

/// A box of species 0 and a ball of species 2 in species 1, carried along (1, 0.7, -0.4) * mach; fractions between 0.1
/// and 0.8.
test_block carried(double mach, reconstruction line, hydro_scheme scheme, int n) {
  hydro_parameters p;
  p.n_species = 3, p.reconstruct = line, p.scheme = scheme;
  test_block b(p, n);
  b.fill([&](double x, double y, double z) {
    primitive w;
    const double c = std::sqrt(1.4);
    w.velocity = {mach * c, 0.7 * mach * c, -0.4 * mach * c};
    const bool box = std::abs(x - 0.3) < 0.2 && std::abs(y - 0.4) < 0.2 && std::abs(z - 0.5) < 0.2;
    const bool ball = std::hypot(x - 0.7, y - 0.6, z - 0.5) < 0.2;
    w.fraction = {box ? 0.8 : 0.1, box || ball ? 0.1 : 0.8, ball && !box ? 0.8 : 0.1};
    return w;
  });
  return b;
}

TEST(species, sum_stays_one_and_no_new_extrema) {
  struct {
    reconstruction line;
    hydro_scheme scheme;
  } constexpr all[] = {{reconstruction::ppm, hydro_scheme::faces},
                       {reconstruction::plm, hydro_scheme::faces},
                       {reconstruction::ppm, hydro_scheme::full3d}};
  for (const auto& [line, scheme] : all)
    for (double mach : {0.1, 1.0, 3.0}) {
      test_block b = carried(mach, line, scheme, 16);
      for (int s = 0; s < 30; ++s) b.step(0.9 / b.signal_rate());
      const fraction_range r = range_of(b);
      EXPECT_LE(r.worst_sum, 1e-14);
      EXPECT_GE(r.smallest, 0.1 - 1e-14) << mach;
      EXPECT_LE(r.largest, 0.8 + 1e-14) << mach;
      EXPECT_GT(r.largest, mach > 2 ? 0.2 : 0.4) << mach;  // and it is not smeared out completely
    }
}

class species_in_rough_flow : public testing::TestWithParam<hydro_scheme> {};
INSTANTIATE_TEST_SUITE_P(schemes, species_in_rough_flow, testing::Values(hydro_scheme::faces, hydro_scheme::full3d));

TEST_P(species_in_rough_flow, have_no_new_extrema_either) {
  hydro_parameters p;
  p.n_species = 2, p.scheme = GetParam();
  test_block b(p, 16);
  b.u() = interior(random_tile(p, 16, 51, 3.0), 16, variable_count(2));
  const fraction_range before = range_of(b);
  for (int s = 0; s < 30; ++s) {
    b.step(0.9 / b.signal_rate());
    const fraction_range r = range_of(b);
    ASSERT_LE(r.worst_sum, 1e-14);
    ASSERT_GE(r.smallest, before.smallest - 1e-14) << s;
    ASSERT_LE(r.largest, before.largest + 1e-14) << s;
  }
}

/// L1 error of a smooth fraction carried once around along x.
double smooth_error(int n) {
  hydro_parameters p;
  p.n_species = 2;
  test_block b(p, n);
  const double pi = std::acos(-1.0);
  b.fill([&](double x, double, double) {
    primitive w;
    w.velocity = {1.0, 0.0, 0.0};
    const double f = 0.5 + 0.3 * std::sin(2 * pi * x);
    w.fraction = {f, 1.0 - f};
    return w;
  });
  const auto before = b.u();
  EXPECT_TRUE(b.run(1.0));
  double error = 0.0;
  for (std::size_t c = i_species * cells_of(n); c < (i_species + 1) * cells_of(n); ++c)
    error += std::abs(b.u()[c] - before[c]) / static_cast<double>(cells_of(n));
  return error;
}

TEST(species, smooth_fractions_converge_with_second_order) {
  const double e16 = smooth_error(16), e32 = smooth_error(32);
  std::printf("smooth fraction: %.3e %.3e order %.2f\n", e16, e32, std::log2(e16 / e32));
  EXPECT_GE(std::log2(e16 / e32), 1.9);
}

TEST(species, one_species_stays_one) {
  hydro_parameters p;
  p.n_species = 1;
  test_block b(p, 8);
  b.u() = interior(random_tile(p, 8, 61, 3.0), 8, variable_count(1));
  for (int s = 0; s < 10; ++s) b.step(0.9 / b.signal_rate());
  for (std::size_t c = 0; c < cells_of(8); ++c) EXPECT_NEAR(b.u()[i_species * 512 + c] / b.u()[c], 1.0, 1e-15);
}

}  // namespace
}  // namespace plx::star
