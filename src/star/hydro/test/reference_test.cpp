// A reference implementation of a stage, cell by cell, directly from the formulas, without code of the kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

using six = std::array<double, 6>;  // density, velocity x y z, pressure, tau / density; or conserved; or fluxes

struct reference {
  hydro_parameters p;
  stage_input in;

  double tile(int v, int i, int j, int k) const {  // ghosts from -3
    const int m = in.n + 6;
    return in.tile[((std::size_t(v) * m + k + 3) * m + j + 3) * m + i + 3];
  }
  six primitive_at(int i, int j, int k) const {
    six w;
    const double rho = w[0] = tile(0, i, j, k);
    double kinetic = 0.0;
    for (int a = 1; a < 4; ++a) w[a] = tile(a, i, j, k) / rho, kinetic += 0.5 * rho * w[a] * w[a];
    const double internal = tile(4, i, j, k) - kinetic;
    w[4] = (p.eos.gamma - 1.0) *
           (internal < p.dual_energy_switch * tile(4, i, j, k) ? std::pow(tile(5, i, j, k), p.eos.gamma) : internal);
    w[5] = tile(5, i, j, k) / rho;
    return w;
  }

  // Colella & Woodward (1984): q[0..6] around cell 3; returns {a_L, a_R} of cell 3.
  static std::pair<double, double> ppm(const std::array<double, 7>& q) {
    auto delta = [&](int j) {
      const double l = q[j] - q[j - 1], r = q[j + 1] - q[j];
      if (l * r <= 0.0) return 0.0;
      return std::copysign(std::min({0.5 * std::abs(l + r), 2 * std::abs(l), 2 * std::abs(r)}), l);
    };
    auto interface = [&](int j) {  // between j and j + 1
      return q[j] + 0.5 * (q[j + 1] - q[j]) - (delta(j + 1) - delta(j)) / 6.0;
    };
    double left = interface(2), right = interface(3);
    const double a = q[3];
    if ((right - a) * (a - left) <= 0.0) return {a, a};
    const double jump = right - left, six_part = jump * (a - 0.5 * (left + right));
    if (six_part > jump * jump / 6.0) left = 3.0 * a - 2.0 * right;
    if (-jump * jump / 6.0 > six_part) right = 3.0 * a - 2.0 * left;
    return {left, right};
  }
  static std::pair<double, double> plm(const std::array<double, 7>& q) {
    const double l = q[3] - q[2], r = q[4] - q[3];
    double s = 0.0;
    if (l * r > 0.0) s = std::copysign(std::min({0.5 * std::abs(l + r), 2 * std::abs(l), 2 * std::abs(r)}), l);
    return {q[3] - 0.5 * s, q[3] + 0.5 * s};
  }

  // Flux across `axis` between states l and r.
  six flux(const six& l, const six& r, int axis) const {
    const int n = 1 + axis;
    auto conserved = [&](const six& w) {
      const double kinetic = 0.5 * w[0] * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
      return six{w[0], w[0] * w[1], w[0] * w[2], w[0] * w[3], w[4] / (p.eos.gamma - 1.0) + kinetic, w[0] * w[5]};
    };
    auto physical = [&](const six& w) {
      six f = conserved(w);
      const double energy = f[4];
      for (double& x : f) x *= w[n];
      f[n] += w[4];
      f[4] = (energy + w[4]) * w[n];
      return f;
    };
    const double cl = std::sqrt(p.eos.gamma * l[4] / l[0]), cr = std::sqrt(p.eos.gamma * r[4] / r[0]);
    double sl = std::min(l[n] - cl, r[n] - cr), sr = std::max(l[n] + cl, r[n] + cr);
    const six ul = conserved(l), ur = conserved(r), fl = physical(l), fr = physical(r);
    six f;
    for (int v = 0; v < 6; ++v) {
      if (p.riemann == riemann_solver::lax_friedrichs)
        f[v] = 0.5 * (fl[v] + fr[v]) - 0.5 * std::max(std::abs(sl), std::abs(sr)) * (ur[v] - ul[v]);
      if (p.riemann == riemann_solver::hll)
        f[v] = sl >= 0 ? fl[v] : sr <= 0 ? fr[v] : (sr * fl[v] - sl * fr[v] + sl * sr * (ur[v] - ul[v])) / (sr - sl);
    }
    if (p.riemann == riemann_solver::hllc || p.riemann == riemann_solver::hllc_lm) {
      // Toro (2009), eqs. 10.37 to 10.39 and 10.71; the speeds: section 10.5
      const double wl = std::sqrt(l[0]) / (std::sqrt(l[0]) + std::sqrt(r[0])), wr = 1.0 - wl;
      const double mean = wl * l[n] + wr * r[n];
      const double d = std::sqrt(wl * cl * cl + wr * cr * cr + 0.5 * wl * wr * (r[n] - l[n]) * (r[n] - l[n]));
      sl = std::min(l[n] - cl, mean - d), sr = std::max(r[n] + cr, mean + d);
      const double star = (r[4] - l[4] + l[0] * l[n] * (sl - l[n]) - r[0] * r[n] * (sr - r[n])) /
                          (l[0] * (sl - l[n]) - r[0] * (sr - r[n]));
      const auto star_flux = [&](bool left) {
        const six &w = left ? l : r, &u = left ? ul : ur, &fk = left ? fl : fr;
        const double s = left ? sl : sr, factor = w[0] * (s - w[n]) / (s - star);
        six us = u, g{};
        us[0] = factor;
        for (int a = 1; a < 4; ++a) us[a] = factor * w[a];
        us[n] = factor * star;
        us[4] = factor * (u[4] / w[0] + (star - w[n]) * (star + w[4] / (w[0] * (s - w[n]))));
        for (int v = 0; v < 5; ++v) g[v] = fk[v] + s * (us[v] - u[v]);
        const double star_pressure = w[4] + w[0] * (s - w[n]) * (star - w[n]);
        if (star_pressure < 0.0) {  // raised to zero
          g[n] -= star_pressure;
          g[4] -= star_pressure * star * (1.0 + star / (s - star));
        }
        return g;
      };
      f = star_flux(star >= 0.0);
      if (p.riemann == riemann_solver::hllc_lm) {  // Fleischmann, Adami & Adams (2020)
        const double x = std::min(1.0, 10.0 * std::max(std::abs(l[n]) / cl, std::abs(r[n]) / cr));
        const double kept = 0.5 * x * (3.0 - x * x);
        const six gl = star_flux(true), gr = star_flux(false);
        for (int v = 0; v < 5; ++v) f[v] -= 0.5 * (1.0 - kept) * ((gl[v] - fl[v]) + (gr[v] - fr[v]));
      }
      if (sl >= 0.0) f = fl;
      if (sr <= 0.0) f = fr;
    }
    f[5] = f[0] * (f[0] < 0.0 ? r[5] : l[5]);
    return f;
  }

  // Flux through the lower face along `axis` of cell (i, j, k).
  six lower_flux(int i, int j, int k, int axis) const {
    six l, r;
    std::array<six, 8> w;  // cells -4..3 from the face's upper cell; the first is not needed by the lower cell at -1
    for (int s = 0; s < 8; ++s) {
      int c[3] = {i, j, k};
      c[axis] = std::max(c[axis] + s - 4, -3);
      c[axis] = std::min(c[axis], in.n + 2);
      w[s] = primitive_at(c[0], c[1], c[2]);
    }
    for (int v = 0; v < 6; ++v) {
      std::array<double, 7> below, above;
      for (int s = 0; s < 7; ++s) below[s] = w[s][v], above[s] = w[s + 1][v];
      const auto scheme = p.reconstruct == reconstruction::plm ? plm : ppm;
      l[v] = scheme(below).second, r[v] = scheme(above).first;
    }
    return flux(l, r, axis);
  }

  six updated(int i, int j, int k) const {
    six u;
    for (int v = 0; v < 6; ++v) u[v] = tile(v, i, j, k);
    six change{};
    for (int axis = 0; axis < 3; ++axis) {
      const int up[3] = {i + (axis == 0), j + (axis == 1), k + (axis == 2)};
      const six low = lower_flux(i, j, k, axis), high = lower_flux(up[0], up[1], up[2], axis);
      for (int v = 0; v < 6; ++v) change[v] -= (high[v] - low[v]) * in.dt / in.place.dx;
    }
    for (int v = 0; v < 6; ++v) {
      const double old = in.u_old[((std::size_t(v) * in.n + k) * in.n + j) * in.n + i];
      u[v] = (1.0 - in.weight) * old + in.weight * (u[v] + change[v]);
    }
    double nearby = std::max(u[4], tile(4, i, j, k));
    for (int d : {-1, 1}) nearby = std::max({nearby, tile(4, i + d, j, k), tile(4, i, j + d, k), tile(4, i, j, k + d)});
    const double internal = u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0];
    if (internal > p.dual_energy_reset * nearby) u[5] = std::pow(internal, 1.0 / p.eos.gamma);
    return u;
  }
};

struct row {
  reconstruction scheme;
  riemann_solver solver;
  double contrast;
  double fast;  // velocity added, so that kinetic energy dominates
};
class against_reference : public testing::TestWithParam<row> {};

TEST_P(against_reference, agrees_to_rounding) {
  hydro_parameters p;
  p.reconstruct = GetParam().scheme, p.riemann = GetParam().solver, p.eos.gamma = 5.0 / 3.0;
  const int n = 8, m = n + 2 * ghost_layers;
  auto tile = random_tile(p, n, 71, GetParam().contrast);
  for (std::size_t c = 0; c < cells_of(m); ++c) {
    const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(cells_of(m));
    primitive w = to_primitive(p.eos, &tile[c], stride, 0, 0.0);
    if (c % 3 != 0) w.velocity[1] += GetParam().fast;
    to_conserved(p.eos, w, 0, &tile[c], stride);
  }
  auto old = interior(random_tile(p, n, 72, GetParam().contrast), n, i_species);
  // So short that no update needs limited fluxes (kernel_positive.hpp).
  const double fast = 1.0 + GetParam().fast, dt = 0.01 / (fast * fast * GetParam().contrast);
  const stage_input in{tile.data(), old.data(), n, 0.5, dt, 0.25};
  const stage_values r = run_stage(p, in);
  const reference slow{p, in};
  double worst = 0.0;
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const six u = slow.updated(i, j, k);
        for (int v = 0; v < 6; ++v) {
          const double scale = std::max(1.0, v == i_tracer ? std::abs(u[v]) : std::abs(u[4]));
          worst = std::max(worst, std::abs(r.u[((std::size_t(v) * n + k) * n + j) * n + i] - u[v]) / scale);
        }
      }
  EXPECT_LT(worst, 2e-14);
}

INSTANTIATE_TEST_SUITE_P(stage, against_reference,
                         testing::Values(row{reconstruction::ppm, riemann_solver::hllc, 1.2, 0.0},
                                         row{reconstruction::ppm, riemann_solver::hllc, 100.0, 0.0},
                                         row{reconstruction::ppm, riemann_solver::hllc, 2.0, 60.0},
                                         row{reconstruction::ppm, riemann_solver::hllc_lm, 10.0, 0.0},
                                         row{reconstruction::ppm, riemann_solver::hll, 10.0, 0.0},
                                         row{reconstruction::plm, riemann_solver::hllc, 10.0, 0.0},
                                         row{reconstruction::plm, riemann_solver::lax_friedrichs, 10.0, 0.0}));

}  // namespace
}  // namespace plx::star
