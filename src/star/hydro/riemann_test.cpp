// The kernel headers in a namespace of this file, compiled with the plain flags.
#define PLX_HYDRO_ISA isa_riemann_test
#include "star/hydro/kernel_riemann.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace plx::star::isa_riemann_test {
namespace {

using five = std::array<double, 5>;  // density, velocities n t b, pressure; or mass, momenta, energy
constexpr double gamma = 1.4;

face_state state(const five& w) { return {all(w[0]), all(w[1]), all(w[2]), all(w[3]), all(w[4])}; }

five flux(riemann_solver solver, const five& l, const five& r) {
  face_flux f = solver == riemann_solver::hllc  ? solve<riemann_solver::hllc>(state(l), state(r), gamma)
                : solver == riemann_solver::hll ? solve<riemann_solver::hll>(state(l), state(r), gamma)
                                                : solve<riemann_solver::lax_friedrichs>(state(l), state(r), gamma);
  return {f.mass[0], f.n[0], f.t[0], f.b[0], f.energy[0]};
}

five exact_flux(const five& w) {
  const double m = w[0] * w[1], e = w[4] / (gamma - 1.0) + 0.5 * w[0] * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
  return {m, m * w[1] + w[4], m * w[2], m * w[3], (e + w[4]) * w[1]};
}

constexpr riemann_solver solvers[] = {riemann_solver::hllc, riemann_solver::hll, riemann_solver::lax_friedrichs};

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
  for (riemann_solver solver : {riemann_solver::hllc, riemann_solver::hll}) {
    const five f = flux(solver, l, r), expected = exact_flux(l);
    for (int v = 0; v < 5; ++v) EXPECT_NEAR(f[v], expected[v], 1e-13);
  }
}

TEST(riemann, hllc_keeps_a_contact_at_rest) {
  EXPECT_EQ(flux(riemann_solver::hllc, {1.0, 0.0, 0.5, 0.0, 0.7}, {9.0, 0.0, -0.5, 0.0, 0.7}), (five{0, 0.7, 0, 0, 0}));
  EXPECT_GT(std::abs(flux(riemann_solver::hll, {1.0, 0.0, 0.5, 0.0, 0.7}, {9.0, 0.0, -0.5, 0.0, 0.7})[0]), 0.1);
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

}  // namespace
}  // namespace plx::star::isa_riemann_test
