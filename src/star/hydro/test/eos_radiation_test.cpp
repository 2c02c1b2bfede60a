// Gas with radiation: limits, roots against bisection, a shock against its jump conditions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "star/hydro/state.hpp"
#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

eos_parameters radiating(double r, double a, double gamma = 5.0 / 3.0) {
  eos_parameters p;
  p.kind = eos_kind::radiation, p.gamma = gamma, p.gas_constant = r, p.radiation_constant = a;
  return p;
}

/// T of p = rho R T + a T^4 / 3, by bisection of the logarithm.
long double temperature_of_pressure(const eos_parameters& p, long double rho, long double pressure) {
  long double lower = -300.0L, upper = 300.0L;
  for (int i = 0; i < 200; ++i) {
    const long double middle = 0.5L * (lower + upper), t = std::exp(middle);
    const long double found = rho * p.gas_constant * t + p.radiation_constant / 3.0L * t * t * t * t;
    (found < pressure ? lower : upper) = middle;
  }
  return std::exp(0.5L * (lower + upper));
}

// From 1e-20 to 1e20 as the ratio of the pressures, in the units of a star and in those of a code.
TEST(eos_radiation, formulas_of_the_temperature_hold) {
  std::mt19937_64 bits(11);
  const auto uniform = [&] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  for (const eos_parameters& p : {radiating(1.39e8, 7.566e-15), radiating(1.0, 1.0, 1.4), radiating(1.0, 3.0, 1.2)}) {
    const equation_of_state eos(p);
    for (int i = 0; i < 3000; ++i) {
      const double rho = std::pow(10.0, 12.0 * uniform() - 9.0), ratio = std::pow(10.0, 40.0 * uniform() - 20.0);
      const double t = std::cbrt(3.0 * ratio * rho * p.gas_constant / p.radiation_constant);
      const double gas = rho * p.gas_constant * t, pressure = gas * (1.0 + ratio);
      const long double exact = temperature_of_pressure(p, rho, pressure);
      const double e = eos.internal_energy(rho, pressure);
      const long double expected =
          rho * p.gas_constant * exact / (p.gamma - 1.0L) + p.radiation_constant * exact * exact * exact * exact;
      ASSERT_NEAR(e / static_cast<double>(expected), 1.0, 1e-14) << rho << " " << ratio;
      ASSERT_NEAR(eos.gas_temperature(rho, e) / (p.gas_constant * static_cast<double>(exact)), 1.0, 2e-14) << ratio;
      ASSERT_NEAR(eos.pressure(rho, e) / pressure, 1.0, 1e-14) << ratio;
    }
  }
}

TEST(eos_radiation, limits_are_ideal_gases) {
  for (const double rho : {1e-6, 1.0, 1e4}) {
    const double p = 3.0 * rho;
    eos_parameters ideal;
    ideal.gamma = 5.0 / 3.0;
    const equation_of_state thin(radiating(1.0, 1e-40)), gas(ideal);
    EXPECT_NEAR(thin.internal_energy(rho, p) / gas.internal_energy(rho, p), 1.0, 1e-14);
    EXPECT_NEAR(thin.sound_speed(rho, p) / gas.sound_speed(rho, p), 1.0, 1e-14);
    const double e = 1e-3 * rho * std::pow(rho, 2.0 / 3.0);  // a tracer below the density
    EXPECT_NEAR(thin.tracer(rho, e) / gas.tracer(rho, e), 1.0, 1e-12);
    const equation_of_state bright(radiating(1e-12, 1.0));
    EXPECT_NEAR(bright.internal_energy(rho, p) / (3.0 * p), 1.0, 1e-9);
    EXPECT_NEAR(bright.sound_speed(rho, p) / std::sqrt(4.0 / 3.0 * p / rho), 1.0, 1e-9);
  }
}

// Not positive, not finite: no temperature, but nothing that hides it from the checks of a stage.
TEST(eos_radiation, invalid_energies_stay_invalid) {
  const equation_of_state eos(radiating(1.0, 1.0));
  EXPECT_LT(eos.pressure(1.0, -1.0), 0.0);
  EXPECT_EQ(eos.pressure(1.0, 0.0), 0.0);
  EXPECT_EQ(eos.sound_speed(1.0, 0.0), 0.0);
  EXPECT_TRUE(std::isnan(eos.pressure(1.0, std::nan(""))));
  EXPECT_TRUE(std::isnan(eos.tracer(1.0, std::nan(""))));
  EXPECT_TRUE(std::isnan(eos.thermal_energy_of_tracer(1.0, std::nan(""))));
  EXPECT_GE(eos.thermal_energy_of_tracer(1.0, -1.0), 0.0);
  EXPECT_GE(eos.thermal_energy_of_tracer(1.0, 0.0), 0.0);
}

// Its tracer, from which the thermal energy comes because kinetic energy dominates, depends on the density.
TEST(eos_radiation, cells_below_the_floor_of_the_density_keep_their_thermal_energy) {
  hydro_parameters p;
  p.eos = radiating(1.0, 1.0);
  p.density_floor = 0.1;
  const equation_of_state eos(p.eos);
  test_block b(p, 8);
  b.fill([](double, double, double) {
    primitive w;
    w.density = 1e-3, w.velocity = {1e6, 0.0, 0.0}, w.pressure = 1e-3 + 1.0 / 3.0;  // T = 1
    return w;
  });
  stage_output out;
  check_cells(p, b.u().data(), 8, b.dx(), {{0, 0, 0}, {8, 8, 8}}, out);
  EXPECT_EQ(out.density_floors, 512);
  const primitive w = b.cell(3, 3, 3);
  EXPECT_EQ(w.density, 0.1);
  const double before = eos.internal_energy(1e-3, 1e-3 + 1.0 / 3.0);
  EXPECT_NEAR(eos.internal_energy(0.1, w.pressure), before, 1e-12 * before);
}

/// The state behind a shock into (rho, p) at rest that compresses it to `dense`, in the frame of the gas ahead.
struct shock {
  double density, velocity, pressure, speed;
};
shock behind(const equation_of_state& eos, double rho, double p, double dense) {
  // The jump condition of the energy, e_2 / rho_2 - e_1 / rho_1 = (p_1 + p_2) (1 / rho_1 - 1 / rho_2) / 2, by
  // bisection.
  const double volume = 1.0 / rho - 1.0 / dense, e = eos.internal_energy(rho, p) / rho;
  double lower = p, upper = 1e6 * p;
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (lower + upper);
    (eos.internal_energy(dense, middle) / dense - e < 0.5 * (p + middle) * volume ? lower : upper) = middle;
  }
  const double after = 0.5 * (lower + upper), flux = std::sqrt((after - p) / volume);
  return {dense, std::sqrt((after - p) * volume), after, flux / rho};
}

// One shock alone: with another energy or pressure than that of the jump conditions it would send out other waves.
// Behind an ideal gas of 5/3 the density is at most 4 times that ahead; here the shocked gas is radiation.
TEST(eos_radiation, a_shock_keeps_the_states_of_its_jump_conditions) {
  hydro_parameters p;
  p.eos = radiating(1.0, 1.0);
  const equation_of_state eos(p.eos);
  const double ahead = 1.0 + 1.0 / 3.0 * 1e-4;  // T = 1, nearly all of it gas
  for (const double dense : {2.0, 4.5}) {
    const shock s = behind(eos, 10.0, 10.0 * ahead, 10.0 * dense);
    constexpr int n = 24;
    test_block b(p, n);
    b.side(0, side_kind::outflow);
    b.fill([&](double x, double, double) {
      primitive w;
      w.density = 10.0, w.pressure = 10.0 * ahead;
      if (x < 0.25) w.density = s.density, w.velocity = {s.velocity, 0.0, 0.0}, w.pressure = s.pressure;
      return w;
    });
    ASSERT_TRUE(b.run(0.5 / s.speed));
    EXPECT_EQ(b.floors(), 0);
    double density = 0.0, pressure = 0.0, mass = 0.0;
    for (int i = 0; i < n; ++i) {
      const primitive w = b.cell(i, 3, 3);
      mass += w.density / n;
      if (i > n / 2) continue;  // the shock is at 0.75; mean errors behind it
      density += std::abs(w.density / s.density - 1.0) / (n / 2 + 1);
      pressure += std::abs(w.pressure / s.pressure - 1.0) / (n / 2 + 1);
    }
    const double gas = s.density * eos.gas_temperature(s.density, eos.internal_energy(s.density, s.pressure));
    std::printf("compressed %g times, radiation / gas %.3g: errors %.2e, %.2e; mass %.2e\n", dense,
                s.pressure / gas - 1.0, density, pressure, mass / (10.0 * (0.75 * dense + 0.25)) - 1.0);
    EXPECT_LT(density, 0.012);
    EXPECT_LT(pressure, 0.012);
    EXPECT_NEAR(mass, 10.0 * (0.75 * dense + 0.25), 1e-2 * mass);
  }
}

}  // namespace
}  // namespace plx::star
