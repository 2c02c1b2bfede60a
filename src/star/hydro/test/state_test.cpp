#include "star/hydro/state.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "star/hydro/parameters.hpp"

namespace plx::star {
namespace {

TEST(state, primitive_to_conserved_and_back) {
  const equation_of_state eos(eos_parameters{5.0 / 3.0});
  primitive w;
  w.density = 2.0, w.velocity = {0.3, -4.0, 0.05}, w.pressure = 0.7, w.fraction = {0.25, 0.75};
  double u[8];
  to_conserved(eos, w, 2, u, 1);
  EXPECT_DOUBLE_EQ(u[i_momentum + 1], -8.0);
  EXPECT_DOUBLE_EQ(u[i_energy], 0.7 / (2.0 / 3.0) + 0.09 + 16.0 + 0.0025);
  EXPECT_NEAR(u[i_tracer], std::pow(1.05, 0.6), 1e-14);
  EXPECT_DOUBLE_EQ(u[i_species + 1], 1.5);
  const primitive back = to_primitive(eos, u, 1, 2, 1e-3);
  EXPECT_DOUBLE_EQ(back.velocity[1], -4.0);
  EXPECT_NEAR(back.pressure, 0.7, 1e-14);
  EXPECT_DOUBLE_EQ(back.fraction[0], 0.25);
}

TEST(state, pressure_of_cold_gas_comes_from_the_tracer) {
  const equation_of_state eos;
  primitive w;
  w.velocity = {1234.567, 0.1, 0.0}, w.pressure = 1e-9;
  double u[6];
  to_conserved(eos, w, 0, u, 1);
  EXPECT_NEAR(to_primitive(eos, u, 1, 0, 1e-3).pressure, 1e-9, 1e-22);
  // Without it, all digits are lost.
  EXPECT_GT(std::abs(to_primitive(eos, u, 1, 0, -1.0).pressure - 1e-9), 1e-11);
}

TEST(state, names_follow_the_order_of_the_variables) {
  hydro_parameters p;
  p.n_species = 2;
  const auto c = fields_of(p);
  ASSERT_EQ(c.size(), 8u);
  EXPECT_EQ(c[i_density].name, "dens");
  EXPECT_EQ(c[i_momentum + 2].axis, 2);
  EXPECT_EQ(c[i_tracer].name, "tau");
  EXPECT_EQ(c[i_species + 1].name, "rs1");
  EXPECT_EQ(c[i_species].limiter_group, c[i_density].limiter_group);
  EXPECT_EQ(c[i_energy].limiter_group, -1);
  EXPECT_EQ(fields_of(hydro_parameters{})[i_density].limiter_group, -1);
}

TEST(state, power_agrees_with_the_library) {
  double worst = 0.0;
  for (double x = 1e-30; x < 1e30; x *= 1.37)
    for (double y : {1.0 / 1.4, 1.4, 0.6, 5.0 / 3.0, 1.0, 0.25}) {
      const double expected = std::pow(x, y);
      worst = std::max(worst, std::abs(isa_baseline::table.power(x, y) - expected) / expected);
    }
  EXPECT_LT(worst, 2e-14);
  EXPECT_EQ(isa_baseline::table.power(1.0, 0.37), 1.0);
  EXPECT_TRUE(std::isnan(isa_baseline::table.power(std::numeric_limits<double>::quiet_NaN(), 1.4)));
}

}  // namespace
}  // namespace plx::star
