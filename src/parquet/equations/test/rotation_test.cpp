#include "parquet/equations/rotation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "parquet/equations/bethe_salpeter.hpp"
#include "parquet/test/small_clusters.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

// Vertices without structure that have the symmetries of reducible ones.
std::vector<complex> symmetric_vertices(const vertex_grid& grid) {
  std::vector<complex> phi(grid.size());
  double x = 0.37;
  const auto next = [&] { return x = std::fmod(997 * x + 0.1234567, 1.0); };
  for (auto& v : phi) {
    const double re = next();
    v = {re, next()};
  }
  for (int s = 0; s < grid.n_slabs(); ++s) {
    const transfer q = grid.transfer_of(s);
    const int n = grid.rows(q.frequency);
    for (channel c : all_channels) {
      complex* at = phi.data() + grid.offset(s, c);
      // The limits do not depend on the momentum outside, so the last row is one number per k; that at w = 0 is real.
      symmetrize(grid, c, q, {at, n, n, n});
      if (q.frequency == 0)
        for (int b = 0; b < n; ++b)
          for (int a = 0; a < n; ++a) {  // and equal to the conjugate with frequencies reversed
            const auto reversed = [&](int i) {
              return i == n - 1
                         ? i
                         : (grid.columns(0) - 1 - i / grid.n_momenta()) * grid.n_momenta() + i % grid.n_momenta();
            };
            if (complex& other = at[reversed(a) + reversed(b) * n]; true) {
              const complex mean = 0.5 * (at[a + b * n] + std::conj(other));
              at[a + b * n] = mean;
              other = std::conj(mean);
            }
          }
    }
  }
  return phi;
}

// F changes sign when two of its legs are exchanged: relations between channels that no equation imposes by itself.
// They hold at all frequencies, inside the slabs and outside.
TEST(Rotation, FullVerticesAreCrossingSymmetric) {
  runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    const auto model = test::plaquette(2, 0.3, 1.2);
    const vertex_grid grid(model.lattice, 2, 3);
    const auto phi = symmetric_vertices(grid);
    const propagator g(model, qmc::matsubara_function(4, 32), 1.1);
    const vertex_reader v(grid, g, phi.data());
    const auto& c = *model.lattice;
    const auto f = [&](channel of, fermion k, fermion kp, boson q) { return full_vertex(v, of, k, kp, q); };
    double largest = 0;
    for (int n : {-4, -1, 0, 2})
      for (int np : {-2, -1, 0, 5})
        for (int m : {-2, 0, 1, 4})
          for (int i = 0; i < 64; ++i) {
            const fermion k = {i & 3, n}, kp = {i >> 2 & 3, np};
            const boson q = {i >> 4 & 3, m};
            const fermion kq = {c.momentum_sum(k.k, q.k), n + m}, qk = {c.momentum_difference(q.k, kp.k), m - 1 - np};
            const boson t = {c.momentum_difference(kp.k, k.k), np - n};
            const auto d = f(channel::density, k, kp, q), mg = f(channel::magnetic, k, kp, q);
            const auto dx = f(channel::density, k, kq, t), mx = f(channel::magnetic, k, kq, t);
            EXPECT_LT(std::abs(d + 0.5 * dx + 1.5 * mx), 1e-13);
            EXPECT_LT(std::abs(mg + 0.5 * dx - 0.5 * mx), 1e-13);
            const boson sum = {c.momentum_sum(kq.k, kp.k), n + np + m + 1};
            const auto s = f(channel::singlet, k, kp, sum), tr = f(channel::triplet, k, kp, sum);
            EXPECT_LT(std::abs(d - 0.5 * s - 1.5 * tr), 1e-13);
            EXPECT_LT(std::abs(mg + 0.5 * s - 0.5 * tr), 1e-13);
            EXPECT_LT(std::abs(f(channel::singlet, k, qk, q) - f(channel::singlet, k, kp, q)), 1e-13);
            EXPECT_LT(std::abs(f(channel::triplet, k, qk, q) + f(channel::triplet, k, kp, q)), 1e-13);
            EXPECT_LT(std::abs(f(channel::density, kp, k, q) - d), 1e-13);
            largest = std::max(largest, std::abs(d));
          }
    EXPECT_GT(largest, 1);
  });
}

TEST(Rotation, SlabsHoldTheEquations) {
  runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    const auto model = test::dimer(2, 0.3, 1.2);
    const vertex_grid grid(model.lattice, 2, 2);
    const auto phi = symmetric_vertices(grid);
    const propagator g(model, qmc::matsubara_function(2, 32), 1.1);
    const vertex_reader v(grid, g, phi.data());
    for (const bool ph : {true, false}) {
      const int n = grid.rows(1);
      complex_matrix a(n, n), b(n, n);
      irreducible_slab(v, ph, {1, 1}, a, b);
      const fermion k = {1, grid.first(ph, 1)}, kp = {0, grid.first(ph, 1) + 2};
      const auto expected =
          ph ? irreducible_particle_hole(v, k, kp, {1, 1}) : irreducible_particle_particle(v, k, kp, {1, 1});
      EXPECT_EQ(a(1, 4), expected.a);
      EXPECT_EQ(b(1, 4), expected.b);
      EXPECT_EQ(a(3, n - 1), ph ? 2.0 : 4.0);
      EXPECT_EQ(b(n - 1, n - 1), ph ? -2.0 : 0.0);
    }
  });
}

}  // namespace
}  // namespace plx::parquet
