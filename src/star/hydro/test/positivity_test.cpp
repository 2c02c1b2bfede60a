// Supersonic, oblique flow of high contrast on one periodic block: no floors, and no drift of mass and energy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "num/exact_sum.hpp"
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
    riemann_solver solver = riemann_solver::hllc;
    bool spin = false;
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
                       {faces, reconstruction::ppm, ssp_rk3, 0.9, 0.15, 1.3, riemann_solver::hllc_lm},
                       {faces, reconstruction::ppm, ssp_rk3, 0.9, 0.15, 1.3, riemann_solver::hll},
                       {faces, reconstruction::ppm, ssp_rk3, 0.9, 0.15, 1.3, riemann_solver::lax_friedrichs},
                       {faces, reconstruction::plm, ssp_rk2, 0.6, 0.25, 1.3, riemann_solver::lax_friedrichs},
                       {faces, reconstruction::ppm, ssp_rk3, 0.9, 0.15, 1.3, riemann_solver::hllc, true},
                       {full3d, reconstruction::ppm, ssp_rk3, 0.9, 0.3, 1.2},
                       {full3d, reconstruction::ppm, ssp_rk2, 0.6, 0.3, 1.2}}) {
    hydro_parameters p = parameters_of(r.scheme, 5.0 / 3.0);
    p.reconstruct = r.reconstruct;
    if (r.scheme == faces) p.riemann = r.solver;
    p.spin = r.spin;
    const double coarse = wave_error(p, 16, r.cfl, r.stages), fine = wave_error(p, 24, r.cfl, r.stages);
    const double order = std::log(coarse / fine) / std::log(1.5);
    std::printf(
        "scheme %d, reconstruction %d, solver %d%s, %d stages, Courant number %.1f: errors %.3e %.3e, order %.2f\n",
        static_cast<int>(r.scheme), static_cast<int>(r.reconstruct), static_cast<int>(p.riemann),
        r.spin ? ", spin" : "", r.stages.stages, r.cfl, coarse, fine, order);
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

// Thin cells, cells without mass, cold ones and negative species, in a row that no vector fills.
TEST(positivity, sums_have_what_floors_change) {
  hydro_parameters p;
  p.density_floor = 0.1, p.pressure_floor = 0.3, p.n_species = 2, p.spin = true;
  test_block b(p, 8);
  b.fill([](double x, double y, double z) {
    primitive w;
    w.density = 1.0 + x, w.velocity = {2.0 - y, -1.0, 0.5 * z}, w.pressure = 1.0, w.fraction[0] = 0.25;
    w.fraction[1] = 0.75;
    return w;
  });
  for (int c = 0; c < 8; ++c) {
    b.at(i_density, c, c, 3) *= c % 3 == 0 ? -0.01 : 0.01;
    b.at(i_energy, c, 2, 7 - c) *= 0.1;
    b.at(i_species + 1, 7 - c, c, 2) = -0.01 * c;
  }
  block_place place(b.dx());
  place.lower[0] = -0.3, place.lower[1] = 0.2, place.lower[2] = 0.1;
  std::vector<double> potential(12 * 12 * 12);
  for (std::size_t i = 0; i < potential.size(); ++i) potential[i] = -1.0 - 1e-3 * static_cast<double>(i);
  const std::vector<double> before = b.u();
  std::vector<exact_limbs> sums(b.variables());
  stage_output out;
  out.added = {sums.data(), 0.25, potential.data()};
  check_cells(p, b.u().data(), 8, place, {{1, 0, 0}, {8, 7, 8}}, out);
  EXPECT_GT(out.added_terms, 50);
  std::vector<double> expected(b.variables(), 0.0), size(b.variables(), 0.0);
  for (int k = 0; k < 8; ++k)
    for (int j = 0; j < 8; ++j)
      for (int i = 0; i < 8; ++i) {
        const std::size_t cell = static_cast<std::size_t>((k * 8 + j) * 8 + i);
        const auto change = [&](std::size_t v) { return b.u()[v * 512 + cell] - before[v * 512 + cell]; };
        const double r[3] = {place.centre(0, i), place.centre(1, j), place.centre(2, k)};
        for (std::size_t v = 0; v < b.variables(); ++v) {
          double x = change(v);
          if (v == i_energy)
            x += change(i_density) * potential[static_cast<std::size_t>(((k + 2) * 12 + j + 2) * 12 + i + 2)];
          if (v >= 8) {
            const std::size_t y = (v - 8 + 1) % 3, z = (v - 8 + 2) % 3;
            x = r[y] * change(i_momentum + z) - r[z] * change(i_momentum + y);
          }
          expected[v] += x, size[v] += std::abs(x);
        }
      }
  for (std::size_t v = 0; v < b.variables(); ++v) {
    if (v == i_tracer) continue;
    exact_sum sum;
    add_limbs(sums[v], sum);
    EXPECT_GT(size[v], 0.01) << v;
    EXPECT_NEAR(sum.value() * 512 / 0.25, expected[v], 1e-13) << v;
  }
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
