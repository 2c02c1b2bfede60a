// A reference implementation of a stage of full3d, cell by cell and point by point, directly from the formulas, without
// code of the kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

using five = std::array<double, 5>;  // density, velocity x y z, pressure; or conserved; or fluxes
using point = std::array<int, 3>;    // a cell, or one of 26 directions

struct reference {
  hydro_parameters p;
  stage_input in;

  double tile(int v, const point& c) const {  // ghosts from -3
    const int m = in.n + 6;
    return in.tile[((std::size_t(v) * m + c[2] + 3) * m + c[1] + 3) * m + c[0] + 3];
  }
  double primitive_of(int v, const point& c) const {
    const double rho = tile(0, c);
    if (v == 0) return rho;
    if (v < 4) return tile(v, c) / rho;
    double internal = tile(4, c);
    for (int a = 1; a < 4; ++a) internal -= 0.5 * tile(a, c) * tile(a, c) / rho;
    return (p.eos.gamma - 1.0) *
           (internal < p.dual_energy_switch * tile(4, c) ? std::pow(tile(5, c), p.eos.gamma) : internal);
  }

  // Colella & Woodward's formulas on five values around the middle one; the value towards q[4].
  static double slope(double below, double here, double above) {  // theta = 2
    const double l = here - below, r = above - here;
    if (l * r <= 0.0) return 0.0;
    return std::copysign(std::min({2.0 * std::abs(l), 2.0 * std::abs(r), 0.5 * std::abs(l + r)}), l);
  }
  double at_point(const std::array<double, 5>& q, const std::array<double, 5>* pressure) const {
    const double d[3] = {slope(q[0], q[1], q[2]), slope(q[1], q[2], q[3]), slope(q[2], q[3], q[4])};
    double left = 0.5 * (q[1] + q[2]) + (d[0] - d[1]) / 6.0, right = 0.5 * (q[2] + q[3]) + (d[1] - d[2]) / 6.0;
    if (pressure) {  // a density, eqs. 1.14 to 1.17 and 3.2
      const auto& w = *pressure;
      const double second_below = q[2] - 2.0 * q[1] + q[0], second_above = q[4] - 2.0 * q[3] + q[2];
      double eta = 0.0;
      if (second_above * second_below < 0.0 && std::abs(q[3] - q[1]) > 0.01 * std::min(q[1], q[3]))
        eta = -(second_above - second_below) / 6.0 / (q[3] - q[1]);
      eta = std::max(0.0, std::min(20.0 * (eta - 0.05), 1.0));
      const bool contact = 0.1 * p.eos.gamma * std::abs(q[3] - q[1]) / std::min(q[1], q[3]) >=
                           std::abs(w[3] - w[1]) / std::min(w[1], w[3]);
      if (!contact) eta = 0.0;
      left = (1.0 - eta) * left + eta * (q[1] + 0.5 * d[0]);
      right = (1.0 - eta) * right + eta * (q[3] - 0.5 * d[2]);
    }
    const double a = q[2], jump = right - left, six = jump * (a - 0.5 * (left + right));
    if ((right - a) * (a - left) <= 0.0) return a;
    if (-jump * jump / 6.0 > six) return 3.0 * a - 2.0 * left;
    return right;
  }
  five state(const point& c, const point& d) const {
    five w;
    std::array<double, 5> q[2];
    for (int v : {4, 3, 2, 1, 0}) {
      auto& mine = q[v == 4 ? 1 : 0];
      for (int s = 0; s < 5; ++s)
        mine[s] = primitive_of(v, {c[0] + (s - 2) * d[0], c[1] + (s - 2) * d[1], c[2] + (s - 2) * d[2]});
      w[v] = at_point(mine, v == 0 && p.contact_steepening ? &q[1] : nullptr);
    }
    return w;
  }

  five flux(const five& l, const five& r, int axis) const {
    const int n = 1 + axis;
    const auto conserved = [&](const five& w) {
      const double kinetic = 0.5 * w[0] * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
      return five{w[0], w[0] * w[1], w[0] * w[2], w[0] * w[3], w[4] / (p.eos.gamma - 1.0) + kinetic};
    };
    const auto physical = [&](const five& w) {
      five f = conserved(w);
      f[4] += w[4];
      for (double& x : f) x *= w[n];
      f[n] += w[4];
      return f;
    };
    const double cl = std::sqrt(p.eos.gamma * l[4] / l[0]), cr = std::sqrt(p.eos.gamma * r[4] / r[0]);
    const double plus = std::max({0.0, l[n] + cl, r[n] + cr}), minus = std::min({0.0, l[n] - cl, r[n] - cr});
    const five ul = conserved(l), ur = conserved(r), fl = physical(l), fr = physical(r);
    five f;
    for (int v = 0; v < 5; ++v) f[v] = (plus * fl[v] - minus * fr[v] + plus * minus * (ur[v] - ul[v])) / (plus - minus);
    return f;
  }

  // Flux through the lower face along `axis` of a cell: Simpson's rule.
  five lower_flux(const point& c, int axis) const {
    constexpr double weight[3] = {16.0 / 36.0, 4.0 / 36.0, 1.0 / 36.0};
    point below = c;
    --below[axis];
    five sum{};
    for (int a = -1; a <= 1; ++a)
      for (int b = -1; b <= 1; ++b) {
        point up{}, down{};
        up[axis] = 1, down[axis] = -1;
        up[(axis + 1) % 3] = down[(axis + 1) % 3] = a;
        up[(axis + 2) % 3] = down[(axis + 2) % 3] = b;
        const five f = flux(state(below, up), state(c, down), axis);
        for (int v = 0; v < 5; ++v) sum[v] += weight[std::abs(a) + std::abs(b)] * f[v];
      }
    return sum;
  }

  // The tracer per mass on both sides of that face, by the same formulas along the axis.
  double tracer_flux(const point& c, int axis, double mass) const {
    const auto value = [&](int cell, int side) {  // cell 0 is c, -1 the one below; at its face in direction `side`
      std::array<double, 5> q;
      for (int s = 0; s < 5; ++s) {
        point at = c;
        at[axis] += cell + side * (s - 2);
        q[s] = tile(5, at) / tile(0, at);
      }
      return at_point(q, nullptr);
    };
    return mass * (mass < 0.0 ? value(0, -1) : value(-1, 1));
  }

  std::array<double, 6> updated(const point& c) const {
    std::array<double, 6> u;
    for (int v = 0; v < 6; ++v) u[v] = tile(v, c);
    const double dt = in.dt / in.place.dx;
    double nearby = tile(4, c);
    for (int axis = 0; axis < 3; ++axis) {
      point above = c, below = c;
      ++above[axis], --below[axis];
      const five low = lower_flux(c, axis), high = lower_flux(above, axis);
      for (int v = 0; v < 5; ++v) u[v] -= (high[v] - low[v]) * dt;
      u[5] -= (tracer_flux(above, axis, high[0]) - tracer_flux(c, axis, low[0])) * dt;
      nearby = std::max({nearby, tile(4, above), tile(4, below)});
    }
    for (int v = 0; v < 6; ++v) {
      const double old = in.u_old[((std::size_t(v) * in.n + c[2]) * in.n + c[1]) * in.n + c[0]];
      u[v] = (1.0 - in.weight) * old + in.weight * u[v];
    }
    const double internal = u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0];
    if (internal > p.dual_energy_reset * std::max(nearby, u[4])) u[5] = std::pow(internal, 1.0 / p.eos.gamma);
    return u;
  }
};

struct row {
  bool steep;
  double contrast;
  double fast;  // velocity added, so that kinetic energy dominates
};
class full3d_reference : public testing::TestWithParam<row> {};

TEST_P(full3d_reference, agrees_to_rounding) {
  hydro_parameters p;
  p.scheme = hydro_scheme::full3d, p.contact_steepening = GetParam().steep, p.eos.gamma = 5.0 / 3.0;
  const int n = 8, m = n + 2 * ghost_layers;
  auto tile = random_tile(p, n, 71, GetParam().contrast);
  const auto stride = static_cast<std::ptrdiff_t>(cells_of(m));
  for (std::size_t c = 0; c < cells_of(m); ++c) {
    primitive w = to_primitive(p.eos, &tile[c], stride, 0, 0.0);
    if (p.contact_steepening) w.pressure = 1.0 + 0.3 * w.pressure / GetParam().contrast;  // so that contacts occur
    if (c % 3 != 0) w.velocity[1] += GetParam().fast;
    to_conserved(p.eos, w, 0, &tile[c], stride);
  }
  const auto old = interior(random_tile(p, n, 72, GetParam().contrast), n, i_species);
  // So short that no update needs limited fluxes (kernel_positive.hpp).
  const double fast = 1.0 + GetParam().fast, dt = 0.01 / (fast * fast * GetParam().contrast);
  const stage_input in{tile.data(), old.data(), n, 0.5, dt, 0.25};
  const stage_values r = run_stage(p, in);
  const reference slow{p, in};
  double worst = 0.0;
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const auto u = slow.updated({i, j, k});
        for (int v = 0; v < 6; ++v) {
          const double scale = std::max(1.0, v == i_tracer ? std::abs(u[v]) : std::abs(u[4]));
          worst = std::max(worst, std::abs(r.u[((std::size_t(v) * n + k) * n + j) * n + i] - u[v]) / scale);
        }
      }
  EXPECT_LT(worst, 2e-14);
  // And the fluxes through all six faces.
  for (int side = 0; side < 6; ++side)
    for (int slow_index = 0; slow_index < n; ++slow_index)
      for (int fast_index = 0; fast_index < n; ++fast_index) {
        const int axis = side / 2, at = side % 2 * n;
        const point c = axis == 0   ? point{at, fast_index, slow_index}
                        : axis == 1 ? point{fast_index, at, slow_index}
                                    : point{fast_index, slow_index, at};
        const five f = slow.lower_flux(c, axis);
        const double scale = std::max(1.0, std::abs(f[4]));
        for (int v = 0; v < 5; ++v)
          ASSERT_NEAR(r.flux[side][(v * n + slow_index) * n + fast_index], f[v], 1e-11 * scale) << side << " " << v;
      }
}

INSTANTIATE_TEST_SUITE_P(stage, full3d_reference,
                         testing::Values(row{false, 1.2, 0.0}, row{false, 100.0, 0.0}, row{false, 2.0, 60.0},
                                         row{true, 3.0, 0.0}));

// The steepened profile of a moving contact is steeper, and nothing else changes.
TEST(contact_steepening, keeps_a_moving_contact_within_fewer_cells) {
  const auto width = [](bool steep) {
    hydro_parameters p;
    p.scheme = hydro_scheme::full3d, p.contact_steepening = steep;
    test_block b(p, 16);
    b.fill([](double x, double, double) {
      primitive w;
      w.density = x > 0.25 && x < 0.75 ? 4.0 : 1.0, w.velocity = {1.0, 0.0, 0.0};
      return w;
    });
    EXPECT_TRUE(b.run(1.0));
    int between = 0;
    for (int i = 0; i < 16; ++i) {
      const primitive w = b.cell(i, 3, 4);
      between += w.density > 1.15 && w.density < 3.85 ? 1 : 0;
      EXPECT_NEAR(w.pressure, 1.0, 1e-12);
      EXPECT_NEAR(w.velocity[0], 1.0, 1e-13);
      EXPECT_GE(w.density, 1.0 - 1e-12);
      EXPECT_LE(w.density, 4.0 + 1e-12);
    }
    return between;
  };
  const int plain = width(false), steep = width(true);
  std::printf("cells in two contacts after one period: %d, steepened %d\n", plain, steep);
  EXPECT_LT(steep, plain);
}

}  // namespace
}  // namespace plx::star
