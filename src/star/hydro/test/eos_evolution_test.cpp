// Gases other than ideal ones on one block that is the domain: sound waves, expansion towards vacuum, dense bodies in
// fast flow, and compression of cold matter.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

const double pi = std::acos(-1.0);

hydro_parameters with_eos_of(eos_kind kind, hydro_scheme scheme = hydro_scheme::faces) {
  hydro_parameters p;
  p.eos.kind = kind, p.scheme = scheme;
  if (scheme == hydro_scheme::full3d) p.riemann = riemann_solver::hll;
  if (kind == eos_kind::stiffened) p.eos.gamma = 4.4, p.eos.p_inf = 600.0;
  if (kind == eos_kind::white_dwarf || kind == eos_kind::radiation) p.eos.gamma = 5.0 / 3.0;
  return p;
}

primitive gas(double density, double vx, double pressure) {
  primitive w;
  w.density = density, w.velocity = {vx, 0.0, 0.0}, w.pressure = pressure;
  return w;
}

/// L1 error of density and momentum of a sound wave on gas at rest after one period, relative to its amplitude. The
/// speed is that of the interface: a wrong one leaves an error of order 1.
double wave_error(const hydro_parameters& p, int n, double density, double pressure) {
  constexpr double amplitude = 1e-6;
  const double c = equation_of_state(p.eos).sound_speed(density, pressure);
  test_block b(p, n);
  b.fill([&](double x, double, double) {
    const double a = amplitude * std::sin(2.0 * pi * x);
    return gas(density * (1.0 + a), c * a, pressure + density * c * c * a);
  });
  const std::vector<double> before = b.u();
  EXPECT_TRUE(b.run(1.0 / c));
  EXPECT_EQ(b.floors(), 0);
  double error = 0.0;
  for (std::size_t k = 0; k < cells_of(n); ++k)
    error += std::abs(b.u()[k] - before[k]) / density +
             std::abs(b.u()[cells_of(n) + k] - before[cells_of(n) + k]) / (density * c);
  return error / static_cast<double>(cells_of(n)) / amplitude;
}

TEST(eos_evolution, sound_waves_converge) {
  struct row {
    eos_kind kind;
    reconstruction scheme;
    double density, pressure, order;
  };
  const equation_of_state cold(with_eos_of(eos_kind::white_dwarf).eos);
  // Electrons at x = 0.1, 1 and 10, with a thermal pressure of 1 %, 30 % and 1 % of theirs. PPM flattens extrema.
  for (const row& r : {row{eos_kind::stiffened, reconstruction::mp5, 1.0, 1.0, 2.5},
                       row{eos_kind::stiffened, reconstruction::ppm, 1.0, 1.0, 1.2},
                       row{eos_kind::white_dwarf, reconstruction::mp5, 1e-3, 1.01 * cold.least_pressure(1e-3), 2.5},
                       row{eos_kind::white_dwarf, reconstruction::mp5, 1.0, 1.3 * cold.least_pressure(1.0), 2.5},
                       row{eos_kind::white_dwarf, reconstruction::mp5, 1e3, 1.01 * cold.least_pressure(1e3), 2.5},
                       // Radiation of a third of the gas' pressure.
                       row{eos_kind::radiation, reconstruction::mp5, 1.0, 4.0 / 3.0, 2.5}}) {
    hydro_parameters p = with_eos_of(r.kind);
    p.reconstruct = r.scheme;
    const double coarse = wave_error(p, 16, r.density, r.pressure), fine = wave_error(p, 24, r.density, r.pressure);
    const double order = std::log(coarse / fine) / std::log(1.5);
    std::printf("%s, scheme %d, density %g: errors %.3e %.3e, order %.2f\n", std::string(name_of(r.kind)).c_str(),
                static_cast<int>(r.scheme), r.density, coarse, fine, order);
    EXPECT_GE(order, r.order);
    EXPECT_LE(fine, 0.15);
  }
}

// Two streams apart. The stiffened gas reaches tension, p < 0, without a floor.
TEST(eos_evolution, gas_is_torn_apart_without_floors) {
  for (const eos_kind kind : {eos_kind::stiffened, eos_kind::white_dwarf, eos_kind::radiation})
    for (const hydro_scheme scheme : {hydro_scheme::faces, hydro_scheme::full3d}) {
      const hydro_parameters p = with_eos_of(kind, scheme);
      const equation_of_state eos(p.eos);
      const double pressure = kind == eos_kind::white_dwarf ? 1.3 * eos.least_pressure(1.0) : 1.0;
      const double speed = 1.5 * eos.sound_speed(1.0, pressure);
      test_block b(p, 16);
      b.side(0, side_kind::outflow);
      b.fill([&](double x, double, double) { return gas(1.0, x < 0.5 ? -speed : speed, pressure); });
      const std::vector<double> before = b.u();
      ASSERT_TRUE(b.run(0.15 / speed));
      EXPECT_EQ(b.floors(), 0) << name_of(kind) << " " << static_cast<int>(scheme);
      const primitive middle = b.cell(8, 3, 3);
      EXPECT_LT(middle.density, 0.7);
      EXPECT_GT(middle.pressure, eos.least_pressure(middle.density));
      if (kind == eos_kind::stiffened) {
        EXPECT_LT(middle.pressure, -100.0);
      }
    }
}

// A ball a million times denser than the gas around it, at Mach 20 in its gas along (1, 1, 1), in pressure equilibrium.
TEST(eos_evolution, dense_balls_move_without_floors) {
  for (const hydro_scheme scheme : {hydro_scheme::faces, hydro_scheme::full3d}) {
    const hydro_parameters p = with_eos_of(eos_kind::stiffened, scheme);
    const double speed = 20.0 * equation_of_state(p.eos).sound_speed(1.0, 1.0) / std::sqrt(3.0);
    test_block b(p, 16);
    b.fill([&](double x, double y, double z) {
      const double r2 = (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5) + (z - 0.5) * (z - 0.5);
      primitive w = gas(r2 < 0.0625 ? 1.0 : 1e-6, speed, 1.0);
      w.velocity = {speed, speed, speed};
      return w;
    });
    const double mass = b.total(i_density), energy = b.total(i_energy);
    ASSERT_TRUE(b.run(0.25 / speed));
    EXPECT_EQ(b.floors(), 0);
    EXPECT_NEAR(b.total(i_density), mass, 1e-13 * mass);
    EXPECT_NEAR(b.total(i_energy), energy, 1e-12 * energy);
  }
}

// Cold matter of a white dwarf, a thermal pressure of 1e-6: a ball a thousand times denser than its surroundings at
// Mach 3, and waves of compression. Thermal energies below the switch come from the tracer, and stay positive.
TEST(eos_evolution, cold_matter_keeps_mass_and_energy_without_floors) {
  const hydro_parameters p = with_eos_of(eos_kind::white_dwarf);
  const equation_of_state eos(p.eos);
  test_block b(p, 16);
  b.fill([&](double x, double y, double z) {
    const double r2 = (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5) + (z - 0.5) * (z - 0.5);
    primitive w = gas(1e-3 + std::exp(-40.0 * r2), 3.0, 0.0);
    w.velocity[1] = 0.3 * std::sin(2.0 * pi * y);
    w.pressure = eos.least_pressure(w.density) * (1.0 + 1e-6);
    return w;
  });
  const double mass = b.total(i_density), energy = b.total(i_energy);
  ASSERT_TRUE(b.run(0.1));
  EXPECT_EQ(b.floors(), 0);
  EXPECT_NEAR(b.total(i_density), mass, 1e-13 * mass);
  EXPECT_NEAR(b.total(i_energy), energy, 1e-13 * energy);
  for (int i = 0; i < 16; ++i) {
    const primitive w = b.cell(i, 8, 8);
    EXPECT_GT(w.pressure, eos.least_pressure(w.density));
    EXPECT_LT(w.pressure, 2.0 * eos.least_pressure(w.density) + 0.01);  // 1e-3 * 3^2: of the gas ahead
  }
}

}  // namespace
}  // namespace plx::star
