// The kernel headers in a namespace of this file, compiled with the plain flags.
#define PLX_HYDRO_ISA isa_riemann_test
#include "star/hydro/kernel/kernel_positive.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <tuple>
#include <utility>

namespace plx::star::isa_riemann_test {
namespace {

using five = std::array<double, 5>;  // density, velocities n t b, pressure; or mass, momenta, energy
constexpr double gamma = 1.4;

ideal_gas gas_of(double g) { return ideal_gas(eos_parameters{g}); }
const ideal_gas eos = gas_of(gamma);

face_state state(const five& w) { return {all(w[0]), all(w[1]), all(w[2]), all(w[3]), all(w[4])}; }

five flux(riemann_solver solver, const five& l, const five& r) {
  face_flux f = solver == riemann_solver::hllc      ? solve<riemann_solver::hllc>(state(l), state(r), eos)
                : solver == riemann_solver::hllc_lm ? solve<riemann_solver::hllc_lm>(state(l), state(r), eos)
                : solver == riemann_solver::hll     ? solve<riemann_solver::hll>(state(l), state(r), eos)
                                                    : solve<riemann_solver::lax_friedrichs>(state(l), state(r), eos);
  return {f.mass[0], f.n[0], f.t[0], f.b[0], f.energy[0]};
}

five exact_flux(const five& w) {
  const double m = w[0] * w[1], e = w[4] / (gamma - 1.0) + 0.5 * w[0] * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
  return {m, m * w[1] + w[4], m * w[2], m * w[3], (e + w[4]) * w[1]};
}

constexpr riemann_solver solvers[] = {riemann_solver::hllc, riemann_solver::hllc_lm, riemann_solver::hll,
                                      riemann_solver::lax_friedrichs};

five random_state(std::mt19937_64& bits) {
  auto uniform = [&] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  return {0.01 + 10 * uniform(), 8 * uniform() - 4, 8 * uniform() - 4, 8 * uniform() - 4, 0.01 + 10 * uniform()};
}

TEST(riemann, flux_of_equal_states_is_the_flux_of_the_state) {
  std::mt19937_64 bits(1);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const five w = random_state(bits), expected = exact_flux(w);
    for (riemann_solver solver : solvers) {
      const five f = flux(solver, w, w);
      for (int v = 0; v < 5; ++v) ASSERT_NEAR(f[v], expected[v], 1e-11) << v;
    }
  }
}

TEST(riemann, cold_states_at_rest_have_no_flux) {
  const five l{1, 0, 0.3, -0.2, 0}, r{2, 0, 0.1, 0, 0};
  for (riemann_solver solver : solvers)
    for (const auto& [a, b] : {std::pair(l, l), std::pair(l, r), std::pair(r, l)}) {
      const five f = flux(solver, a, b);
      for (int v = 0; v < 5; ++v) EXPECT_NEAR(f[v], 0.0, 1e-140) << static_cast<int>(solver) << ", variable " << v;
    }
}

TEST(riemann, exchanged_states_give_the_opposite_flux_to_the_last_bit) {
  std::mt19937_64 bits(2);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const five l = random_state(bits), r = random_state(bits);
    for (riemann_solver solver : solvers) {
      const five f = flux(solver, l, r);
      const five m = flux(solver, {r[0], -r[1], r[2], r[3], r[4]}, {l[0], -l[1], l[2], l[3], l[4]});
      for (int v = 0; v < 5; ++v) ASSERT_EQ(m[v], v == 1 ? f[v] : -f[v]);
      const five swapped = flux(solver, {l[0], l[1], l[3], l[2], l[4]}, {r[0], r[1], r[3], r[2], r[4]});
      ASSERT_EQ(swapped[2], f[3]);
      ASSERT_EQ(swapped[4], f[4]);
    }
  }
}

TEST(riemann, supersonic_flow_takes_the_upwind_side) {
  const five l{1.0, 5.0, 0.3, -0.2, 1.0}, r{2.0, 6.0, 0.1, 0.4, 0.5};
  for (riemann_solver solver : {riemann_solver::hllc, riemann_solver::hllc_lm, riemann_solver::hll}) {
    const five f = flux(solver, l, r), expected = exact_flux(l);
    for (int v = 0; v < 5; ++v) EXPECT_NEAR(f[v], expected[v], 1e-13);
  }
}

TEST(riemann, hllc_keeps_a_contact_at_rest) {
  for (riemann_solver solver : {riemann_solver::hllc, riemann_solver::hllc_lm})
    EXPECT_EQ(flux(solver, {1.0, 0.0, 0.5, 0.0, 0.7}, {9.0, 0.0, -0.5, 0.0, 0.7}), (five{0, 0.7, 0, 0, 0}));
  EXPECT_GT(std::abs(flux(riemann_solver::hll, {1.0, 0.0, 0.5, 0.0, 0.7}, {9.0, 0.0, -0.5, 0.0, 0.7})[0]), 0.1);
}

// The speed of a shock alone is Roe's mean u - c, which that of Einfeldt encloses for gamma below 2; the mean of Davis,
// that of the slower side, is twice as wide.
TEST(riemann, speeds_of_hllc_enclose_a_shock_closely) {
  for (double mach : {1.5, 5.0, 100.0}) {
    const double m2 = mach * mach, density = (gamma + 1.0) * m2 / ((gamma - 1.0) * m2 + 2.0);
    const double pressure = (1.0 + 2.0 * gamma / (gamma + 1.0) * (m2 - 1.0)) / gamma;
    const five ahead{1.0, mach, 0.0, 0.0, 1.0 / gamma}, behind{density, mach / density, 0.0, 0.0, pressure};
    face_speeds sound;
    const double left = einfeldt_speeds(state(ahead), state(behind), eos, {}, {}, sound).left[0];
    EXPECT_LE(left, 0.0) << mach;
    EXPECT_GT(left, 0.5 * (behind[1] - sound.right[0])) << mach;
    EXPECT_DOUBLE_EQ(signal_speeds(state(ahead), state(behind), eos, {}, {}).left[0], behind[1] - sound.right[0]);
  }
}

TEST(riemann, hllc_lm_is_hllc_from_a_mach_number_of_a_tenth_on) {
  const five l{1.0, 0.2, 0.3, -0.2, 1.0}, r{1.3, 0.05, 0.1, 0.4, 0.7};
  EXPECT_EQ(flux(riemann_solver::hllc_lm, l, r), flux(riemann_solver::hllc, l, r));
  const five slow{1.0, 1e-4, 0.3, -0.2, 1.0}, slow_too{1.3, -1e-4, 0.1, 0.4, 0.9};  // the mean, without dissipation
  const five mean = flux(riemann_solver::hllc_lm, slow, slow_too);
  EXPECT_NEAR(mean[1], 0.95, 1e-3);
  EXPECT_NEAR(mean[0], 0.0, 1e-2);
  EXPECT_GT(flux(riemann_solver::hllc, slow, slow_too)[0], 0.03);
}

TEST(riemann, hllc_of_sod_is_near_the_exact_flux) {
  // Exact: density 0.42632, velocity 0.92745, pressure 0.30313 at the interface (Toro 2009, section 4.3.3).
  const five f = flux(riemann_solver::hllc, {1.0, 0.0, 0.0, 0.0, 1.0}, {0.125, 0.0, 0.0, 0.0, 0.1});
  const five expected = exact_flux({0.42632, 0.92745, 0.0, 0.0, 0.30313});
  for (int v : {0, 1, 4}) EXPECT_NEAR(f[v], expected[v], 0.3 * std::abs(expected[v])) << v;
}

TEST(riemann, near_vacuum_stays_finite) {
  for (double tiny : {1e-24, 1e-12})
    for (double speed : {0.0, 2.0, 100.0})
      for (riemann_solver solver : solvers) {
        const five f = flux(solver, {1.0, -speed, 0.0, 0.0, tiny}, {1.0, speed, 0.0, 0.0, tiny});
        for (double x : f) EXPECT_TRUE(std::isfinite(x)) << tiny << " " << speed;
      }
}

/// Random neighbours with gamma up to 5/3 and Mach numbers 1e-3 to 1e3, their variables within `spread` of each other.
struct neighbours {
  ideal_gas eos;
  face_state a, b;
  double step;  ///< at a Courant number of 0.9
};

neighbours random_neighbours(std::mt19937_64& bits, double spread) {
  auto uniform = [&] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  auto about = [&](double size) { return size * (2.0 * uniform() - 1.0); };
  const double g = 1.05 + uniform() * (5.0 / 3.0 - 1.05), pressure = std::pow(10.0, 4.0 * uniform() - 2.0);
  const double sound = std::sqrt(g * pressure), speed = sound * std::pow(10.0, 6.0 * uniform() - 3.0);
  const double v[3] = {about(speed), about(speed), about(speed)};
  neighbours n{gas_of(g), state({1.0, v[0], v[1], v[2], pressure}), {}, 0.0};
  n.b = state({std::exp(about(spread)), v[0] + about(spread * sound), v[1] + about(spread * sound),
               v[2] + about(spread * sound), pressure * std::exp(about(spread))});
  double fastest = 0.0;
  for (const face_state* w : {&n.a, &n.b})
    fastest = std::max(fastest, std::abs(w->n[0]) + std::abs(w->t[0]) + std::abs(w->b[0]) +
                                    3.0 * std::sqrt(g * w->pressure[0] / w->density[0]));
  n.step = 0.9 / fastest;
  return n;
}

// Fluxes of states at the face that are between the two averages, each variable for itself.
TEST(positive_fluxes, similar_cells_need_no_limit) {
  std::mt19937_64 bits(7);
  int similar = 0;
  for (int repeat = 0; repeat < 400000; ++repeat) {
    const neighbours n = random_neighbours(bits, 0.05);
    if ((plx::star::isa_riemann_test::bits(differ_much(n.a, n.b, n.eos)) & 1u) != 0) continue;
    ++similar;
    auto mix = [&](vd x, vd y) { return x + all(static_cast<double>(bits() >> 11) * 0x1p-53) * (y - x); };
    auto between_them = [&] {
      return face_state{mix(n.a.density, n.b.density), mix(n.a.n, n.b.n), mix(n.a.t, n.b.t), mix(n.a.b, n.b.b),
                        mix(n.a.pressure, n.b.pressure)};
    };
    const face_state l = between_them(), r = between_them();
    for (const face_flux& f : {solve<riemann_solver::hllc>(l, r, n.eos), solve<riemann_solver::hllc_lm>(l, r, n.eos)}) {
      const vm bad = needs_limit(average_of(n.a, n.eos, n.step), average_of(n.b, n.eos, n.step), n.eos, f);
      ASSERT_EQ(plx::star::isa_riemann_test::bits(bad), 0u) << repeat;
    }
  }
  EXPECT_GT(similar, 50000);
}

TEST(positive_fluxes, limited_fluxes_leave_density_and_internal_energy) {
  std::mt19937_64 bits(8);
  int limited = 0;
  for (int repeat = 0; repeat < 100000; ++repeat) {
    const neighbours n = random_neighbours(bits, 3.0), other = random_neighbours(bits, 3.0);
    const auto a = average_of(n.a, n.eos, n.step), b = average_of(n.b, n.eos, n.step);
    face_flux f = solve<riemann_solver::hllc>(n.a, other.b, n.eos);  // of an unrelated state
    const face_flux low = lax_friedrichs(n.a, n.b, n.eos), given = f;
    if (plx::star::isa_riemann_test::bits(needs_limit(a, b, n.eos, low)) != 0) continue;
    const vm bad = keep_positive<false>(n.a, n.b, n.eos, n.step, f);
    if (plx::star::isa_riemann_test::bits(bad) == 0) {
      EXPECT_EQ(f.energy[0], given.energy[0]);
      continue;
    }
    ++limited;
    for (const auto& [cell, outward, rate] : {std::tuple{a, n.a.n, a.rate}, std::tuple{b, -n.b.n, -b.rate}}) {
      const vd weight = weight_of(cell, outward);
      const remainder r = remains(cell, weight, rate, f);
      const double least = 0.999 * least_remainder;
      EXPECT_GE(r.density[0], least * (weight * cell.w.density)[0]);
      const double scale = std::abs(r.energy[0]) + (weight * cell.energy)[0];
      EXPECT_GE((r.energy - all(0.5) * r.momentum2() / r.density)[0],
                least * (weight * cell.w.pressure)[0] / (n.eos.gamma - 1.0) - 1e-12 * scale);
    }
  }
  EXPECT_GT(limited, 10000);
}

}  // namespace
}  // namespace plx::star::isa_riemann_test
