// The equations of state: consistency, limits, and the same arithmetic in the kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "star/hydro/state.hpp"
#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

eos_parameters stiffened(double p_inf, double gamma = 4.4) {
  eos_parameters p;
  p.kind = eos_kind::stiffened, p.gamma = gamma, p.p_inf = p_inf;
  return p;
}
eos_parameters white_dwarf(double a = 2.0, double b = 3.0, double gamma = 5.0 / 3.0) {
  eos_parameters p;
  p.kind = eos_kind::white_dwarf, p.gamma = gamma, p.electron_pressure = a, p.electron_density = b;
  return p;
}
eos_parameters radiating(double r = 2.0, double a = 0.1) {
  eos_parameters p;
  p.kind = eos_kind::radiation, p.gamma = 5.0 / 3.0, p.gas_constant = r, p.radiation_constant = a;
  return p;
}

const eos_parameters all_kinds[] = {{}, stiffened(600.0), white_dwarf(), radiating(), radiating(2.0, 1e-6)};

/// States from thin to dense, with thermal pressures of about 1e-3 to 1e3 times the density.
struct states {
  std::mt19937_64 bits{3};
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double density() { return std::pow(10.0, 8.0 * uniform() - 4.0); }
  double pressure(const equation_of_state& eos, double density) {
    return eos.least_pressure(density) + density * std::pow(10.0, 6.0 * uniform() - 3.0) +
           eos.pressure_offset() * uniform();
  }
};

TEST(eos, pressure_and_energy_round_trip) {
  states some;
  for (const equation_of_state eos : all_kinds)
    for (int i = 0; i < 2000; ++i) {
      const double rho = some.density(), p = some.pressure(eos, rho), e = eos.internal_energy(rho, p);
      const double scale = std::abs(p) + eos.pressure_offset() + std::abs(e);
      ASSERT_NEAR(eos.pressure(rho, e), p, 1e-14 * scale) << name_of(eos.parameters().kind) << " " << rho;
      ASSERT_GT(eos.thermal_energy(rho, e), 0.0);
      const double tau = eos.tracer(rho, e);
      ASSERT_NEAR(eos.thermal_energy_of_tracer(rho, tau), eos.thermal_energy(rho, e),
                  1e-13 * eos.thermal_energy(rho, e));
    }
}

// c^2 = dp/drho at constant e + (e + p) / rho dp/de, e per volume.
TEST(eos, speed_of_sound_is_that_of_the_derivatives) {
  states some;
  for (const equation_of_state eos : all_kinds)
    for (int i = 0; i < 2000; ++i) {
      const double rho = some.density(), p = some.pressure(eos, rho), e = eos.internal_energy(rho, p);
      const double d = 1e-4 * rho, de = 1e-4 * eos.thermal_energy(rho, e);
      const double p_rho = (8.0 * (eos.pressure(rho + d, e) - eos.pressure(rho - d, e)) -
                            (eos.pressure(rho + 2 * d, e) - eos.pressure(rho - 2 * d, e))) /
                           (12.0 * d);
      const double p_e = (eos.pressure(rho, e + de) - eos.pressure(rho, e - de)) / (2.0 * de);
      const double enthalpy = e + p + eos.pressure_offset();  // energies of a stiffened gas leave out p_inf
      const double c = eos.sound_speed(rho, p), rounding = 1e-16 * (std::abs(p) + std::abs(e)) * enthalpy / (de * rho);
      ASSERT_NEAR(c * c, p_rho + enthalpy / rho * p_e, 1e-9 * c * c + 10.0 * rounding)
          << name_of(eos.parameters().kind) << " " << rho;
    }
}

// P_c = rho dE_c/drho - E_c.
TEST(eos, cold_curve_is_thermodynamically_consistent) {
  const equation_of_state eos(white_dwarf());
  const auto energy = [&](double rho) { return eos.internal_energy(rho, eos.least_pressure(rho)); };
  for (double rho = 1e-5; rho < 1e6; rho *= 1.3) {
    const double d = 1e-3 * rho;
    const double slope =
        (8.0 * (energy(rho + d) - energy(rho - d)) - (energy(rho + 2 * d) - energy(rho - 2 * d))) / (12.0 * d);
    EXPECT_NEAR(rho * slope - energy(rho), eos.least_pressure(rho), 2e-10 * eos.least_pressure(rho)) << rho;
  }
}

// The tracer of gas that is compressed without exchange of heat, de = (e + p) / rho drho, is proportional to its
// density.
TEST(eos, tracer_is_conserved_along_adiabats) {
  for (const equation_of_state eos : all_kinds) {
    double rho = 0.5, e = eos.internal_energy(rho, eos.least_pressure(rho) + 0.3);
    const double before = eos.tracer(rho, e) / rho;
    const auto slope = [&](double at, double energy) {
      return (energy + eos.pressure(at, energy) + eos.pressure_offset()) / at;
    };
    constexpr int steps = 4000;
    const double h = (5.0 - rho) / steps;
    for (int s = 0; s < steps; ++s, rho += h) {
      const double k1 = slope(rho, e), k2 = slope(rho + 0.5 * h, e + 0.5 * h * k1);
      const double k3 = slope(rho + 0.5 * h, e + 0.5 * h * k2), k4 = slope(rho + h, e + h * k3);
      e += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    }
    EXPECT_NEAR(eos.tracer(rho, e) / rho, before, 1e-8 * before) << name_of(eos.parameters().kind);
  }
}

// Against the closed form with 64 bits of mantissa, from where its terms cancel to 1e-13.
TEST(eos, white_dwarf_pressure_is_that_of_the_closed_form) {
  const equation_of_state eos(white_dwarf(1.0, 1.0));
  for (double rho = 1e-3; rho < 1e9; rho *= 1.07) {
    const long double x = std::cbrt(static_cast<long double>(rho)), root = std::sqrt(x * x + 1);
    const long double p = x * (2 * x * x - 3) * root + 3 * std::asinh(x), e = 8 * x * x * x * (root - 1) - p;
    const double cold = eos.least_pressure(rho);
    EXPECT_NEAR(cold / static_cast<double>(p), 1.0, 3e-14) << rho;
    EXPECT_NEAR(eos.internal_energy(rho, cold) / static_cast<double>(e), 1.0, 3e-14) << rho;
    const long double c2 = 8 * x * x * x * x * x / (3 * root * rho);
    EXPECT_NEAR(eos.sound_speed(rho, cold) / static_cast<double>(std::sqrt(c2)), 1.0, 3e-14) << rho;
  }
}

TEST(eos, white_dwarf_has_the_limits_of_slow_and_fast_electrons) {
  const equation_of_state eos(white_dwarf(1.0, 1.0));
  const auto exponent = [&](double rho) { return std::log2(eos.least_pressure(2.0 * rho) / eos.least_pressure(rho)); };
  EXPECT_NEAR(exponent(1e-12), 5.0 / 3.0, 1e-7);
  EXPECT_NEAR(exponent(1e12), 4.0 / 3.0, 1e-7);
  EXPECT_NEAR(eos.least_pressure(1e-15) / (1.6 * std::pow(1e-15, 5.0 / 3.0)), 1.0, 1e-9);
  EXPECT_NEAR(eos.least_pressure(1e15) / (2.0 * std::pow(1e15, 4.0 / 3.0)), 1.0, 1e-9);
  EXPECT_EQ(eos.least_pressure(0.0), 0.0);
  EXPECT_EQ(eos.least_pressure(-1.0), 0.0);
}

TEST(eos, stiffened_gas_has_the_textbook_formulas) {
  const double gamma = 4.4, p_inf = 600.0, rho = 1.2, p = -30.0;
  const equation_of_state eos(stiffened(p_inf, gamma));
  EXPECT_NEAR(eos.internal_energy(rho, p), (p + gamma * p_inf) / (gamma - 1.0) - p_inf, 1e-12 * p_inf);
  EXPECT_NEAR(eos.sound_speed(rho, p), std::sqrt(gamma * (p + p_inf) / rho), 1e-13);
  EXPECT_EQ(eos.least_pressure(rho), -p_inf);
}

// The pressure is counted from -p_inf, and nothing else changes.
TEST(eos, a_stage_of_a_stiffened_gas_is_that_of_an_ideal_one_with_shifted_pressures) {
  hydro_parameters ideal, stiff;
  ideal.eos.gamma = stiff.eos.gamma = 4.4, stiff.eos.kind = eos_kind::stiffened, stiff.eos.p_inf = 64.0;
  constexpr int n = 8, m = n + 2 * ghost_layers;
  const auto tile_of = [&](const hydro_parameters& p, double shift) {
    std::vector<double> tile(variable_count(0) * cells_of(m));
    std::mt19937_64 bits(9);
    for (std::size_t c = 0; c < cells_of(m); ++c) {
      primitive w;
      w.density = 1.0 + static_cast<double>(bits() % 8);
      w.velocity = {static_cast<double>(bits() % 8) - 4.0, static_cast<double>(bits() % 4) - 2.0, 1.0};
      w.pressure = static_cast<double>(bits() % 100) + 1.0 - shift;
      to_conserved(p.eos, w, 0, &tile[c], static_cast<std::ptrdiff_t>(cells_of(m)));
    }
    return tile;
  };
  const auto a = tile_of(ideal, 0.0), b = tile_of(stiff, 64.0);
  ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0);
  const auto old = interior(a, n, variable_count(0));
  const stage_input in{a.data(), old.data(), n, 1.0 / n, 1e-3 / n, 1.0};
  const stage_values r = run_stage(ideal, in), s = run_stage(stiff, in);
  EXPECT_EQ(std::memcmp(r.u.data(), s.u.data(), r.u.size() * sizeof(double)), 0);
  const auto cells = static_cast<std::ptrdiff_t>(cells_of(n));
  for (std::ptrdiff_t c = 0; c < cells; ++c)
    EXPECT_NEAR(to_primitive(stiff.eos, &s.u[c], cells, 0, 1e-3).pressure + 64.0,
                to_primitive(ideal.eos, &s.u[c], cells, 0, 1e-3).pressure, 1e-12);
}

}  // namespace
}  // namespace plx::star
