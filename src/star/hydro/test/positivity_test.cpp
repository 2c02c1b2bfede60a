// Supersonic, oblique flow of high contrast on one periodic block: no floors, and no drift of mass and energy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

enum class profile { ball, star };

/// A ball with a sharp surface, or a star-like profile (sin x / x)^(3/2), of radius 1/4 in gas a million times thinner.
/// The density and the speed of sound in the centre are 1.
primitive shape_at(profile which, double x, double y, double z, double gamma) {
  constexpr double contrast = 1e6;
  const double r = 4.0 * std::sqrt((x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5) + (z - 0.5) * (z - 0.5));
  primitive w;
  if (which == profile::ball) {
    w.density = r < 1.0 ? 1.0 : 1.0 / contrast;
    w.pressure = w.density / gamma;
  } else {
    const double a = std::acos(-1.0) * r;
    w.density = std::max(r < 1.0 ? std::pow(a < 1e-9 ? 1.0 : std::sin(a) / a, 1.5) : 0.0, 1.0 / contrast);
    w.pressure = std::pow(w.density, gamma) / gamma;
  }
  return w;
}

hydro_parameters parameters_of(hydro_scheme scheme, double gamma) {
  hydro_parameters p;
  p.eos.gamma = gamma, p.scheme = scheme;
  if (scheme == hydro_scheme::full3d) p.riemann = riemann_solver::hll;
  return p;
}

using moving_case = std::tuple<hydro_scheme, profile, double, int>;  // Mach number, number of axes with velocity
class moving : public testing::TestWithParam<moving_case> {};

std::string name_of(const testing::TestParamInfo<moving_case>& info) {
  const auto& [scheme, which, mach, axes] = info.param;
  return std::string(scheme == hydro_scheme::faces ? "faces" : "full3d") +
         (which == profile::ball ? "_ball" : "_star") + "_mach" + std::to_string(static_cast<int>(10 * mach)) +
         "_axes" + std::to_string(axes);
}

TEST_P(moving, keeps_mass_and_energy_without_floors) {
  const auto& [scheme, which, mach, axes] = GetParam();
  const hydro_parameters p = parameters_of(scheme, 5.0 / 3.0);
  test_block b(p, 16);
  b.fill([&](double x, double y, double z) {
    primitive w = shape_at(which, x, y, z, p.eos.gamma);
    for (int a = 0; a < axes; ++a) w.velocity[a] = mach / std::sqrt(axes);
    return w;
  });
  const double mass = b.total(i_density), energy = b.total(i_energy);
  ASSERT_TRUE(b.run(0.25 / mach, 0.9));
  EXPECT_EQ(b.floors(), 0);
  EXPECT_NEAR(b.total(i_density), mass, 1e-12 * mass);
  EXPECT_NEAR(b.total(i_energy), energy, 1e-12 * energy);
}
INSTANTIATE_TEST_SUITE_P(faces, moving,
                         testing::Combine(testing::Values(hydro_scheme::faces),
                                          testing::Values(profile::ball, profile::star),
                                          testing::Values(0.5, 2.0, 5.0, 20.0), testing::Values(1, 2, 3)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(full3d, moving,
                         testing::Combine(testing::Values(hydro_scheme::full3d),
                                          testing::Values(profile::ball, profile::star), testing::Values(2.0, 20.0),
                                          testing::Values(1, 3)),
                         name_of);

// Two streams part along a plane across `axes` axes.
TEST(positivity, oblique_double_rarefactions) {
  for (const hydro_scheme scheme : {hydro_scheme::faces, hydro_scheme::full3d})
    for (const int axes : {1, 2, 3})
      for (const double speed : {5.0, 20.0}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(scheme) << ", " << axes << " axes, speed " << speed);
        test_block b(parameters_of(scheme, 1.4), 16, side_kind::outflow);
        b.fill([&](double x, double y, double z) {
          const double along[3] = {x - 0.5, y - 0.5, z - 0.5};
          double distance = 0.0;
          for (int a = 0; a < axes; ++a) distance += along[a];
          primitive w;
          w.density = 1.0, w.pressure = 0.4;
          for (int a = 0; a < axes; ++a) w.velocity[a] = (distance < 0.0 ? -speed : speed) / std::sqrt(axes);
          return w;
        });
        ASSERT_TRUE(b.run(0.3 / speed, 0.9));
        EXPECT_EQ(b.floors(), 0);
      }
}

/// L1 error of the density, relative to the amplitude, of an entropy wave along (1, 1, 1) at Mach 5 per axis after one
/// period. The pressure must stay uniform.
double wave_error(const hydro_parameters& p, int n, double cfl, const integrator& integrator) {
  constexpr double amplitude = 1e-2, mach = 5.0;
  test_block b(p, n);
  b.fill([&](double x, double y, double z) {
    primitive w;
    w.density = 1.0 + amplitude * std::sin(2.0 * std::acos(-1.0) * (x + y + z));
    w.velocity = {mach, mach, mach}, w.pressure = 1.0 / p.eos.gamma;
    return w;
  });
  const std::vector<double> before = b.u();
  EXPECT_TRUE(b.run(1.0 / mach, cfl, integrator));
  EXPECT_EQ(b.floors(), 0);
  double error = 0.0;
  for (std::size_t c = 0; c < cells_of(n); ++c) error += std::abs(b.u()[c] - before[c]);
  for (int i = 0; i < n; ++i) EXPECT_NEAR(b.cell(i, i / 2, 0).pressure * p.eos.gamma, 1.0, 1e-12);
  return error / static_cast<double>(cells_of(n)) / amplitude;
}

// PPM and PLM flatten the extrema of so coarse a wave (24 cells for a wavelength along each axis are 14 across it),
// hence orders below two; MP5 does not.
TEST(positivity, fast_oblique_waves_are_stable_at_every_accepted_courant_number) {
  struct row {
    hydro_scheme scheme;
    reconstruction reconstruct;
    const integrator& stages;
    double cfl, most, order;
  };
  const hydro_scheme faces = hydro_scheme::faces, full3d = hydro_scheme::full3d;
  for (const row& r : {row{faces, reconstruction::ppm, ssp_rk3, 0.3, 0.15, 1.3},
                       {faces, reconstruction::ppm, ssp_rk3, 0.9, 0.15, 1.3},
                       {faces, reconstruction::ppm, ssp_rk3, 0.6, 0.15, 1.3},
                       {faces, reconstruction::ppm, ssp_rk2, 0.6, 0.25, 1.0},
                       {faces, reconstruction::plm, ssp_rk3, 0.9, 0.25, 1.3},
                       {faces, reconstruction::plm, ssp_rk2, 0.6, 0.25, 1.3},
                       {faces, reconstruction::mp5, ssp_rk3, 0.9, 0.05, 2.8},
                       {faces, reconstruction::mp5, ssp_rk2, 0.6, 0.15, 1.9},
                       {full3d, reconstruction::ppm, ssp_rk3, 0.9, 0.3, 1.2}}) {
    hydro_parameters p = parameters_of(r.scheme, 5.0 / 3.0);
    p.reconstruct = r.reconstruct;
    const double coarse = wave_error(p, 16, r.cfl, r.stages), fine = wave_error(p, 24, r.cfl, r.stages);
    const double order = std::log(coarse / fine) / std::log(1.5);
    std::printf("scheme %d, reconstruction %d, %d stages, Courant number %.1f: errors %.3e %.3e, order %.2f\n",
                static_cast<int>(r.scheme), static_cast<int>(r.reconstruct), r.stages.stages, r.cfl, coarse, fine,
                order);
    EXPECT_LE(coarse, r.most);
    EXPECT_GE(order, r.order);
  }
}

TEST(positivity, thin_cells_keep_momentum_and_gain_no_kinetic_energy) {
  hydro_parameters p;
  p.density_floor = 0.1, p.pressure_floor = 0.01;
  test_block b(p, 8);
  b.fill([](double, double, double) {
    primitive w;
    w.density = 1.0, w.velocity = {2.0, -1.0, 0.5}, w.pressure = 1.0;
    return w;
  });
  for (int v = i_momentum; v < i_momentum + 3; ++v) b.at(v, 1, 1, 1) *= 0.05, b.at(v, 2, 2, 2) *= 0.05;
  b.at(i_density, 1, 1, 1) = 0.05;
  b.at(i_density, 2, 2, 2) = -0.2;
  const double momentum = b.at(i_momentum, 1, 1, 1);
  stage_output out;
  check_cells(p, b.u().data(), 8, b.dx(), {{0, 0, 0}, {8, 8, 8}}, out);
  EXPECT_EQ(out.density_floors, 2);
  EXPECT_EQ(b.at(i_density, 1, 1, 1), 0.1);
  EXPECT_EQ(b.at(i_momentum, 1, 1, 1), momentum);
  EXPECT_LT(std::abs(b.cell(1, 1, 1).velocity[0]), 2.0);
  EXPECT_EQ(b.at(i_density, 2, 2, 2), 0.1);
  for (int v = i_momentum; v < i_momentum + 3; ++v) EXPECT_EQ(b.at(v, 2, 2, 2), 0.0);
  EXPECT_NEAR(b.cell(2, 2, 2).pressure, 0.01, 1e-15);
  EXPECT_LT(out.max_signal_rate * b.dx(), 20.0);
}

TEST(positivity, species_of_a_cell_without_any_become_equal_parts) {
  hydro_parameters p;
  p.n_species = 2;
  test_block b(p, 8);
  b.fill([](double, double, double) {
    primitive w;
    w.density = 1e9, w.pressure = 1.0, w.fraction[0] = 0.25, w.fraction[1] = 0.75;
    return w;
  });
  b.at(i_species, 1, 1, 1) = -1.0, b.at(i_species + 1, 1, 1, 1) = 0.0;
  stage_output out;
  check_cells(p, b.u().data(), 8, b.dx(), {{0, 0, 0}, {8, 8, 8}}, out);
  EXPECT_EQ(out.first_bad_cell, -1);
  EXPECT_EQ(b.at(i_species, 1, 1, 1), 5e8);
  EXPECT_EQ(b.at(i_species + 1, 1, 1, 1), 5e8);
  EXPECT_EQ(b.at(i_species, 2, 1, 1), 2.5e8);
}

}  // namespace
}  // namespace plx::star
