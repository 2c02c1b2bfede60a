// The spin of cells in the kernels: angular momentum, accuracy, and the same bits everywhere.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "star/hydro/stage.hpp"
#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

hydro_parameters with_spin(int n_species = 0) {
  hydro_parameters p;
  p.spin = true, p.n_species = n_species;
  return p;
}

std::vector<double> random_spins(const hydro_parameters& p, int n, unsigned seed) {
  std::vector<double> tile = random_tile(p, n, seed, 3.0);
  std::mt19937_64 bits(seed + 1);
  const std::size_t first = static_cast<std::size_t>(spin_variable(p)) * cells_of(n + 2 * ghost_layers);
  for (std::size_t c = first; c < tile.size(); ++c)
    tile[c] = 40.0 * (static_cast<double>(bits() >> 11) * 0x1p-53 - 0.5);
  return tile;
}

// The angular momentum of a block [0, 1]^3 about the origin.
std::array<double, 3> angular_momentum(const std::vector<double>& u, int n, int spin) {
  std::array<double, 3> sum{};
  const std::size_t cells = cells_of(n);
  for (std::size_t c = 0; c < cells; ++c) {
    const double x[3] = {(c % n + 0.5) / n, (c / n % n + 0.5) / n, (c / (n * n) + 0.5) / n};
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, d = (a + 2) % 3;
      sum[a] += x[b] * u[(i_momentum + d) * cells + c] - x[d] * u[(i_momentum + b) * cells + c] +
                u[(spin + a) * cells + c] / (12.0 * n * n);
    }
  }
  return sum;
}

TEST(Spin, TheAngularMomentumChangesByTheFluxThroughTheBoundaries) {
  for (const int n : {8, 16})
    for (const double omega : {0.0, 0.7}) {
      hydro_parameters p = with_spin(2);
      p.omega = omega;
      const int n_var = variable_count(p), spin = spin_variable(p);
      const auto tile = random_spins(p, n, 3), old = interior(tile, n, n_var);
      const double dt = 0.02 / n, dx = 1.0 / n, weight = 2.0 / 3.0;
      const stage_values r = run_stage(p, {tile.data(), old.data(), n, dx, dt, weight});
      EXPECT_EQ(r.out.density_floors + r.out.pressure_floors + r.out.first_bad_cell, -1);
      const auto before = angular_momentum(old, n, spin), after = angular_momentum(r.u, n, spin);
      std::array<double, 3> through{};
      for (int side = 0; side < 6; ++side)
        for (int c = 0; c < n * n; ++c) {
          const int axis = side / 2, fast = axis == 0 ? 1 : 0, slow = axis == 2 ? 1 : 2;
          double x[3];
          x[axis] = side % 2, x[fast] = (c % n + 0.5) * dx, x[slow] = (c / n + 0.5) * dx;
          const auto flux = [&](int v) { return r.flux[side][v * n * n + c]; };
          for (int a = 0; a < 3; ++a) {
            const int b = (a + 1) % 3, d = (a + 2) % 3;
            through[a] += (side % 2 == 0 ? 1.0 : -1.0) *
                          (x[b] * flux(i_momentum + d) - x[d] * flux(i_momentum + b) + dx * dx / 12.0 * flux(spin + a));
          }
        }
      for (int a = 0; a < 3; ++a) {
        EXPECT_NEAR(after[a] - before[a], weight * dt / dx * through[a], 1e-11);
        EXPECT_GT(std::abs(after[a] - before[a]), 1e-3);
      }
    }
}

TEST(Spin, BlocksThatShareAFaceAndAllInstructionSetsHaveTheSameBits) {
  hydro_parameters p = with_spin();
  const int n = 16, n_var = variable_count(p), m = n + 2 * ghost_layers, half = 8, hm = half + 2 * ghost_layers;
  const auto tile = random_spins(p, n, 5), old = interior(tile, n, n_var);
  const stage_values whole = run_stage(p, {tile.data(), old.data(), n, 1.0, 0.02, 1.0});
  for (const isa which : available_isas())
    EXPECT_EQ(run_stage(p, {tile.data(), old.data(), n, 1.0, 0.02, 1.0}, which).u, whole.u);
  for (int part = 0; part < 8; ++part) {
    const int x0 = part % 2 * half, y0 = part / 2 % 2 * half, z0 = part / 4 * half;
    std::vector<double> sub;
    for (int v = 0; v < n_var; ++v)
      for (int k = 0; k < hm; ++k)
        for (int j = 0; j < hm; ++j)
          for (int i = 0; i < hm; ++i) sub.push_back(tile[((std::size_t(v) * m + z0 + k) * m + y0 + j) * m + x0 + i]);
    const auto sub_old = interior(sub, half, n_var);
    const stage_values r = run_stage(p, {sub.data(), sub_old.data(), half, 1.0, 0.02, 1.0});
    for (int v = 0; v < n_var; ++v)
      for (int k = 0; k < half; ++k)
        for (int j = 0; j < half; ++j)
          for (int i = 0; i < half; ++i)
            ASSERT_EQ(r.u[((v * half + k) * half + j) * half + i],
                      whole.u[((std::size_t(v) * n + z0 + k) * n + y0 + j) * n + x0 + i]);
  }
}

// Mirrored along x, the momentum changes sign along x, and the axial spin along y and z; so do permuted axes.
TEST(Spin, AMirroredAndARotatedStateGiveMirroredAndRotatedBits) {
  hydro_parameters p = with_spin();
  const int n = 8, m = n + 2 * ghost_layers, spin = spin_variable(p), n_var = variable_count(p);
  const auto tile = random_spins(p, n, 9), old = interior(tile, n, n_var);
  const auto expected = run_stage(p, {tile.data(), old.data(), n, 1.0, 0.02, 1.0}).u;
  const auto at = [](int v, int i, int j, int k, int w) { return ((std::size_t(v) * w + k) * w + j) * w + i; };
  const auto mirrored = [&](const std::vector<double>& from, int w) {
    std::vector<double> to(from.size());
    for (int v = 0; v < n_var; ++v) {
      const double sign = v == i_momentum || v == spin + 1 || v == spin + 2 ? -1.0 : 1.0;
      for (int k = 0; k < w; ++k)
        for (int j = 0; j < w; ++j)
          for (int i = 0; i < w; ++i) to[at(v, i, j, k, w)] = sign * from[at(v, w - 1 - i, j, k, w)];
    }
    return to;
  };
  const auto rotated = [&](const std::vector<double>& from, int w) {  // x to y, y to z, z to x
    std::vector<double> to(from.size());
    for (int v = 0; v < n_var; ++v) {
      int of = v;
      for (const int first : {i_momentum, spin})
        if (v >= first && v < first + 3) of = first + (v - first + 2) % 3;
      for (int k = 0; k < w; ++k)
        for (int j = 0; j < w; ++j)
          for (int i = 0; i < w; ++i) to[at(v, i, j, k, w)] = from[at(of, j, k, i, w)];
    }
    return to;
  };
  const auto result = [&](const std::vector<double>& other) {
    const auto start = interior(other, n, n_var);
    return run_stage(p, {other.data(), start.data(), n, 1.0, 0.02, 1.0}).u;
  };
  EXPECT_EQ(result(mirrored(tile, m)), mirrored(expected, n));
  EXPECT_EQ(result(rotated(tile, m)), rotated(expected, n));
}

// A shear wave that moves by one wavelength: the spin carries the slopes of its velocity, and halves the error.
TEST(Spin, AShearWaveIsMoreAccurateWithIt) {
  const auto error = [](bool spin, int n) {
    hydro_parameters p;
    p.spin = spin;
    test_block b(p, n);
    const auto velocity = [](double x) { return 0.1 * std::sin(2.0 * std::numbers::pi * x); };
    b.fill([&](double x, double, double) {
      primitive w;
      w.velocity = {1.0, velocity(x), 0.0};
      return w;
    });
    for (int i = 0; spin && i < n; ++i)
      for (int c = 0; c < n * n; ++c)
        b.at(spin_variable(p) + 2, i, c % n, c / n) =
            (velocity(b.center(i) + b.dx()) - velocity(b.center(i) - b.dx())) / (2.0 * b.dx());
    EXPECT_TRUE(b.run(1.0));
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += std::abs(b.cell(i, 3, 4).velocity[1] - velocity(b.center(i))) / n;
    return sum;
  };
  const double without = error(false, 16), with = error(true, 16), finer = error(true, 32);
  std::printf("errors: %.3e without, %.3e with spin, 32 cells %.3e\n", without, with, finer);
  EXPECT_LT(with, 0.7 * without);
  EXPECT_LT(finer, 0.27 * with);
}

TEST(Spin, AUniformGasIsKept) {
  test_block b(with_spin(), 8);
  b.fill([](double, double, double) {
    primitive w;
    w.density = 0.7, w.velocity = {0.3, -1.1, 0.2}, w.pressure = 1.3;
    return w;
  });
  const std::vector<double> before = b.u();
  for (int s = 0; s < 3; ++s) b.step(0.01);
  for (std::size_t c = 0; c < before.size(); ++c) ASSERT_NEAR(b.u()[c], before[c], 1e-14) << c;
}

// Far more spin than the velocities have: positive, and no velocity outside of the range of its neighbours.
TEST(Spin, TooMuchSpinKeepsTheStateValid) {
  hydro_parameters p = with_spin();
  test_block b(p, 16);
  b.fill([](double x, double y, double) {
    primitive w;
    w.density = x < 0.5 ? 1.0 : 100.0, w.velocity = {20.0 * std::sin(6.0 * y), 30.0 * std::cos(9.0 * x), 5.0};
    w.pressure = y < 0.3 ? 0.01 : 1.0;
    return w;
  });
  for (std::size_t c = 0; c < cells_of(16); ++c)
    for (int a = 0; a < 3; ++a) b.u()[(spin_variable(p) + a) * cells_of(16) + c] = c % 3 == 0 ? -1e6 : 1e6;
  EXPECT_TRUE(b.run(0.05));
  EXPECT_EQ(b.floors(), 0);
}

}  // namespace
}  // namespace plx::star
