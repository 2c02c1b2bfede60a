#include "parquet/equations/bethe_salpeter.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "num/dense/linear_algebra.hpp"
#include "parquet/test/small_clusters.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

template <class F>
void with_green(F f) {
  runtime rt({.workers = 1, .bind = false});
  rt.run([&] {
    const auto model = test::dimer(2, 0.3, 1.2);
    f(propagator(model, qmc::matsubara_function(2, 64), 1.1), vertex_grid(model.lattice, 3, 4));
  });
}

// A constant irreducible vertex: the ladder is Lambda^2 X / (1 - Lambda X) with the bubble of all frequencies.
TEST(BetheSalpeter, ConstantVertexGivesTheWholeLadder) {
  with_green([](const propagator& g, const vertex_grid& grid) {
    for (channel c : all_channels)
      for (int m : {0, 3}) {
        const int n = grid.rows(m);
        const double bare = 0.8;
        const complex x = is_particle_hole(c) ? g.particle_hole(1, m)
                                              : (c == channel::singlet ? -0.5 : 0.5) * g.particle_particle(1, m);
        complex_matrix gamma(n, n), f(n, n), phi(n, n);
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) {
            gamma(i, j) = bare;
            f(i, j) = bare / (1.0 - bare * x);
          }
        const auto weights = pair_weights(grid, g, c, {1, m});
        const double eigenvalue = leading_eigenvalue(gamma.view(), weights).real();
        EXPECT_NEAR(eigenvalue, std::max((bare * x).real(), 0.0), 1e-12);
        solve_bethe_salpeter(gamma.view(), weights, f, phi);
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) EXPECT_LT(std::abs(phi(i, j) - bare * bare * x / (1.0 - bare * x)), 1e-14);
      }
  });
}

TEST(BetheSalpeter, SymmetrizedVerticesStay) {
  with_green([](const propagator&, const vertex_grid& grid) {
    for (channel c : all_channels)
      for (int m : {0, 1}) {
        const int n = grid.rows(m);
        complex_matrix phi(n, n);
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) phi(i, j) = complex(std::sin(3 * i + 5 * j), std::cos(i - 2 * j));
        EXPECT_GT(symmetrize(grid, c, {1, m}, phi), 0.1);
        EXPECT_LT(symmetrize(grid, c, {1, m}, phi), 1e-15);
        const int i = 2, j = 7;  // k = 0, n = first + 1; k = 1, n = first + 3
        EXPECT_EQ(phi(i, j), phi(j, i));
        const int partner = (grid.columns(m) - 2) * 2 + 1;
        if (c == channel::singlet) {
          EXPECT_EQ(phi(partner, j), phi(i, j));
        }
        if (c == channel::triplet) {
          EXPECT_EQ(phi(partner, j), -phi(i, j));
        }
      }
  });
}

// The largest size is found, with the bits of std::abs, among numbers of all sizes and neighbours in the last bits.
TEST(BetheSalpeter, SizesAreSkippedOnlyIfTheyAreSmaller) {
  std::vector<complex> all;
  std::uint64_t x = 1;
  const auto next = [&x] {
    return static_cast<double>((x = x * 6364136223846793005 + 1442695040888963407) >> 11) * 0x1p-53;
  };
  for (const double size : {1.0, 1e-3, 1e-149, 1e-151, 1e-160, 1e-162, 1e-310, 0.0, 1e153, 1e200, 1e308})
    for (int i = 0; i < 200; ++i) {
      const double angle = 6.3 * next(), scale = size * (1 + 1e-15 * i);
      all.push_back({scale * std::cos(angle), scale * std::sin(angle)});
    }
  for (int i = 0; i < 200; ++i) all.push_back({std::ldexp(next() - 0.5, -i), std::ldexp(next() - 0.5, -i)});
  int skipped = 0;
  for (const complex a : all)
    for (const complex b : all)
      if (!may_exceed(std::abs(a), b)) {
        ASSERT_LT(std::abs(b), std::abs(a)) << a << b;
        ++skipped;
      }
  EXPECT_GT(skipped, static_cast<int>(all.size() * all.size()) / 4);
  EXPECT_TRUE(may_exceed(1, {NAN, 0}));
  EXPECT_TRUE(may_exceed(NAN, {1, 0}));
  EXPECT_TRUE(may_exceed(0, {0, 0}));
}

}  // namespace
}  // namespace plx::parquet
