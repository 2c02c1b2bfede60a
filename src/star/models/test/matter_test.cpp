// The matter of stars: dp = rho dH, inverse functions, and spheres against their known relations.
#include "star/models/matter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "star/exact/polytrope.hpp"

namespace plx::star::models {
namespace {

matter white_dwarf(double thermal = 0.0) {
  matter m;
  m.kind = matter_kind::white_dwarf;
  m.eos = eos_parameters{
      .gamma = 5.0 / 3.0, .kind = eos_kind::white_dwarf, .electron_pressure = 3.0, .electron_density = 2.0};
  m.thermal = thermal;
  return m;
}

matter layered() {
  matter m;
  m.kind = matter_kind::core_envelope;
  m.index = 1.5, m.core_index = 3.0, m.jump = 2.0;
  m.density_unit = 0.7, m.enthalpy_unit = 1.3;
  return m;
}

matter blended(double width) {
  matter m = layered();
  m.blend = width;
  return m;
}

TEST(Matter, PressureIsTheIntegralOfDensityOverEnthalpy) {
  matter polytrope;
  polytrope.set_constant(0.4);
  EXPECT_NEAR(polytrope.constant(), 0.4, 1e-15);
  for (const matter& m : {polytrope, layered(), white_dwarf(), white_dwarf(0.01), blended(0.15)})
    for (const double h : {0.01, 0.3, 1.2, 1.4, 5.0, 40.0}) {
      const double step = 1e-5 * h;
      EXPECT_NEAR((m.pressure(h + step) - m.pressure(h - step)) / (2.0 * step), m.density(h), 1e-8 * m.density(h))
          << name_of(m.kind) << " " << h;
      EXPECT_NEAR(m.enthalpy(m.density(h)), h, 1e-12 * h) << name_of(m.kind);
    }
  EXPECT_EQ(polytrope.density(-1.0), 0.0);
  EXPECT_EQ(polytrope.pressure(0.0), 0.0);
}

TEST(Matter, TheCoreMeetsTheEnvelopeWithEqualPressure) {
  const matter m = layered();
  const double h = m.enthalpy_unit, below = h * (1.0 - 1e-12);
  EXPECT_NEAR(m.density(h), 2.0 * m.density(below), 1e-9);
  EXPECT_NEAR(m.pressure(h), m.pressure(below), 1e-9);
  EXPECT_EQ(m.core_density(h), m.density(h));
  EXPECT_EQ(m.core_density(below), 0.0);
}

// A mixture over a part of H: the integral of the density is the pressure there, too, and nothing jumps. The same
// matter in core and envelope stays that matter.
TEST(Matter, CoreAndEnvelopeMix) {
  for (const double width : {0.3, 1.0, 100.0}) {
    const matter m = blended(width);
    for (const double h : {1.2, 1.28, 1.3, 1.31, 1.4, 1.6}) {
      const double step = 1e-6;
      EXPECT_NEAR((m.pressure(h + step) - m.pressure(h - step)) / (2.0 * step), m.density(h), 1e-6) << h;
      EXPECT_NEAR(m.density(h + 1e-9), m.density(h - 1e-9), 1e-7) << h;
      EXPECT_LE(m.core_density(h), m.density(h));
    }
    EXPECT_EQ(m.core_density(0.5 * 1.3 * 0.99), 0.0);
    EXPECT_EQ(m.core_density(3.0), m.density(3.0));
  }
  matter same = blended(0.5);
  same.core_index = same.index, same.jump = 1.0;
  matter polytrope = same;
  polytrope.kind = matter_kind::polytrope;
  for (const double h : {1.1, 1.3, 1.5, 4.0}) {
    EXPECT_NEAR(same.density(h) / polytrope.density(h), 1.0, 1e-14);
    EXPECT_NEAR(same.pressure(h) / polytrope.pressure(h), 1.0, 1e-14);
  }
}

// Chandrasekhar's mass for two nucleons per electron: 5.836 / 4 = 1.459 solar masses, and the radius of light white
// dwarfs, polytropes of index 3/2.
TEST(Matter, WhiteDwarfsHaveTheirMassesAndRadii) {
  matter m = white_dwarf();
  const double pi = std::numbers::pi, a = 6.00233e22, b = 2.0 * 9.7395e5, g = 6.6743e-8, sun = 1.98841e33;
  m.eos =
      eos_parameters{.gamma = 5.0 / 3.0, .kind = eos_kind::white_dwarf, .electron_pressure = a, .electron_density = b};
  EXPECT_NEAR(largest_mass(m, g) / sun, 1.457, 3e-3);
  const sphere light = white_dwarf_of(m, 1e-3 * sun, g), heavy = white_dwarf_of(m, 1.3 * sun, g);
  EXPECT_NEAR(light.mass, 1e-3 * sun, 1e-9 * sun);
  const double k = 1.6 * a / std::pow(b, 5.0 / 3.0);  // P = 8/5 A x^5
  EXPECT_NEAR(light.radius / radius_of_polytrope(1.5, light.mass, k, g), 1.0, 3e-3);
  EXPECT_LT(heavy.radius, 0.3 * light.radius);
  double mass = 0.0;  // the densities that it returns
  constexpr int shells = 2000;
  for (int i = 0; i < shells; ++i) {
    const double r = (i + 0.5) / shells * heavy.radius;
    mass += 4.0 * pi * r * r * heavy.radius / shells * heavy.density(r);
  }
  EXPECT_NEAR(mass / heavy.mass, 1.0, 0.02);
}

TEST(Matter, NumbersKeepAllOfIt) {
  for (const matter& m : {layered(), white_dwarf(0.02)}) {
    const auto again = matter::of_numbers(m.numbers());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->numbers(), m.numbers());
    EXPECT_EQ(again->density(2.0), m.density(2.0));
  }
  EXPECT_FALSE(matter::of_numbers({1.0, 2.0}));
  EXPECT_TRUE(matter_kind_of("white_dwarf"));
  EXPECT_FALSE(matter_kind_of("neutron_star"));
}

}  // namespace
}  // namespace plx::star::models
