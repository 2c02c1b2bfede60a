#include "star/hydro/options.hpp"

#include <gtest/gtest.h>

#include "base/config.hpp"

namespace plx::star {
namespace {

TEST(hydro_options, defaults_are_ppm_hllc_rk3) {
  const auto p = hydro_options{}.parameters(2);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->reconstruct, reconstruction::ppm);
  EXPECT_EQ(p->riemann, riemann_solver::hllc);
  EXPECT_EQ(p->n_species, 2);
  EXPECT_EQ(hydro_options{}.time_integrator().stages, 3);
}

TEST(hydro_options, values_come_from_the_input) {
  hydro_options o;
  config_table table;
  o.describe(table);
  ASSERT_TRUE(
      table.load_text("[hydro]\nflux = 'lax_friedrichs'\nreconstruction = 'plm'\nintegrator = 'rk2'\n"
                      "gamma = 1.25\ndensity_floor = 1e-3\n",
                      "test"));
  const auto p = o.parameters(0);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->riemann, riemann_solver::lax_friedrichs);
  EXPECT_EQ(p->reconstruct, reconstruction::plm);
  EXPECT_EQ(p->eos.gamma, 1.25);
  EXPECT_EQ(p->density_floor, 1e-3);
  EXPECT_EQ(o.time_integrator().stages, 2);
}

TEST(hydro_options, wrong_values_are_one_line) {
  hydro_options o;
  o.flux = "roe";
  ASSERT_FALSE(o.parameters(0));
  EXPECT_NE(o.parameters(0).error().message.find("'roe'"), std::string::npos);
  o = {}, o.gamma = 1.0;
  EXPECT_FALSE(o.parameters(0));
  o = {}, o.cfl = 1.5;
  EXPECT_FALSE(o.parameters(0));
  o = {}, o.integrator = "rk2", o.reconstruction = "plm";
  EXPECT_TRUE(o.parameters(0));
  o.cfl = 0.7;
  EXPECT_FALSE(o.parameters(0));
  o = {}, o.integrator = "rk2";
  ASSERT_FALSE(o.parameters(0));
  EXPECT_NE(o.parameters(0).error().message.find("steepens smooth waves"), std::string::npos);
  EXPECT_NE(o.parameters(0).error().message.find("--allow-change hydro.integrator"), std::string::npos);
  o.scheme = "full3d";
  EXPECT_FALSE(o.parameters(0));
  EXPECT_FALSE(hydro_options{}.parameters(max_species + 1));
  config_table table;
  o = {}, o.describe(table);
  EXPECT_FALSE(table.set("hydro.gamma=0.9"));
  EXPECT_FALSE(table.set("hydro.flux=roe"));
}

TEST(hydro_options, equation_of_state) {
  hydro_options o;
  config_table table;
  o.describe(table);
  EXPECT_EQ(o.parameters(0)->eos.kind, eos_kind::ideal);
  EXPECT_FALSE(table.set("eos.kind=polytrope"));
  ASSERT_TRUE(table.load_text("[eos]\nkind = 'stiffened'\n", "test"));
  ASSERT_FALSE(o.parameters(0));
  EXPECT_EQ(o.parameters(0).error().message,
            "eos.p_inf is 0: expected a value above 0, which eos.kind = \"stiffened\" requires");
  o.eos.p_inf = 600.0;
  ASSERT_TRUE(o.parameters(0));
  EXPECT_EQ(o.parameters(0)->eos.kind, eos_kind::stiffened);
  EXPECT_EQ(o.parameters(0)->eos.p_inf, 600.0);
  EXPECT_EQ(o.parameters(0)->eos.gamma, o.gamma);
  o.eos.kind = "white_dwarf", o.eos.electron_pressure = 2.0, o.eos.electron_density = 3.0;
  ASSERT_FALSE(o.parameters(0));
  EXPECT_EQ(o.parameters(0).error().message,
            "eos.p_inf is 600: expected 0, because eos.kind = \"white_dwarf\" does not use it");
  o.eos.p_inf = 0.0;
  ASSERT_TRUE(o.parameters(0));
  EXPECT_EQ(o.parameters(0)->eos.electron_density, 3.0);
  o.eos.kind = "ideal";
  EXPECT_FALSE(o.parameters(0));
  o.eos = {.kind = "radiation", .gas_constant = 2.0};
  ASSERT_FALSE(o.parameters(0));
  EXPECT_EQ(
      o.parameters(0).error().message,
      "eos.radiation_constant is 0: expected a value above 0, which eos.kind = \"radiation\" requires, or [units] "
      "and eos.molecular_weight, from which it follows");
  o.eos.radiation_constant = 3.0;
  ASSERT_TRUE(o.parameters(0));
  EXPECT_EQ(o.parameters(0)->eos.radiation_constant, 3.0);
}

TEST(hydro_options, courant_number_by_the_integrator_unless_given) {
  hydro_options o;
  EXPECT_EQ(o.courant_number(), 0.9);
  o.integrator = "rk2";
  EXPECT_EQ(o.courant_number(), 0.6);
  o.cfl = 0.25;
  EXPECT_EQ(o.courant_number(), 0.25);
}

TEST(hydro_options, full3d_has_ppm_and_the_central_upwind_flux) {
  hydro_options o;
  config_table table;
  o.describe(table);
  ASSERT_TRUE(table.load_text("[hydro]\nscheme = 'full3d'\ncontact_steepening = true\n", "test"));
  ASSERT_TRUE(o.parameters(0));
  EXPECT_EQ(o.parameters(0)->scheme, hydro_scheme::full3d);
  EXPECT_EQ(o.parameters(0)->riemann, riemann_solver::hll);
  EXPECT_TRUE(o.parameters(0)->contact_steepening);
  EXPECT_EQ(hydro_options{}.parameters(0)->scheme, hydro_scheme::faces);
  EXPECT_FALSE(table.set("hydro.scheme=full"));
  o.reconstruction = "mp5";
  ASSERT_FALSE(o.parameters(0));
  EXPECT_NE(o.parameters(0).error().message.find("'mp5'"), std::string::npos);
  o.reconstruction = "ppm", o.flux = "hllc";
  ASSERT_FALSE(o.parameters(0));
  EXPECT_NE(o.parameters(0).error().message.find("full3d"), std::string::npos);
  o.flux = "hll";
  EXPECT_TRUE(o.parameters(0));
  o.scheme = "faces";
  ASSERT_FALSE(o.parameters(0));
  EXPECT_NE(o.parameters(0).error().message.find("contact_steepening"), std::string::npos);
}

TEST(hydro_options, weights_of_the_stages_are_consistent) {
  for (const integrator& scheme : {ssp_rk3, ssp_rk2}) {
    // A linear problem u' = 1: after all stages u = dt; the flux weights give the same.
    double u = 0.0, flux = 0.0;
    for (int s = 0; s < scheme.stages; ++s)
      u = 0.0 + scheme.weight[s] * ((u - 0.0) + 1.0), flux += scheme.flux_weight[s];
    EXPECT_DOUBLE_EQ(u, 1.0);
    EXPECT_DOUBLE_EQ(flux, 1.0);
  }
}

}  // namespace
}  // namespace plx::star
