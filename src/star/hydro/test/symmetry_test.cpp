// Mirrored, permuted and rotated problems: all 48 symmetries of the cube, on random states.
#include <gtest/gtest.h>

#include <array>

#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

/// New axis a is old axis `axis[a]`, reversed where flip[a].
struct symmetry {
  std::array<int, 3> axis;
  std::array<bool, 3> flip;
};

std::vector<symmetry> all_symmetries() {
  std::vector<symmetry> all;
  for (std::array<int, 3> axis : {std::array{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}})
    for (int bits = 0; bits < 8; ++bits) all.push_back({axis, {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}});
  return all;
}

/// A field set [n_var][m][m][m], mapped.
std::vector<double> mapped(const std::vector<double>& from, const symmetry& s, int m, int n_var) {
  std::vector<double> to(from.size());
  for (int v = 0; v < n_var; ++v) {
    const int axis = v - i_momentum;  // of a momentum in the new axes
    const bool vector = axis >= 0 && axis < 3;
    const int old_v = vector ? i_momentum + s.axis[axis] : v;
    const double sign = vector && s.flip[axis] ? -1.0 : 1.0;
    for (int k = 0; k < m; ++k)
      for (int j = 0; j < m; ++j)
        for (int i = 0; i < m; ++i) {
          const int x[3] = {i, j, k};
          int old[3];
          for (int a = 0; a < 3; ++a) old[s.axis[a]] = s.flip[a] ? m - 1 - x[a] : x[a];
          to[((std::size_t(v) * m + k) * m + j) * m + i] =
              sign * from[((std::size_t(old_v) * m + old[2]) * m + old[1]) * m + old[0]];
        }
  }
  return to;
}

struct scheme {
  reconstruction reconstruct;
  riemann_solver riemann;
  int n_species;
  hydro_scheme shape = hydro_scheme::faces;
  bool steep = false;
};

hydro_parameters parameters_of(const scheme& s) {
  hydro_parameters p;
  p.reconstruct = s.reconstruct, p.riemann = s.riemann, p.n_species = s.n_species;
  p.scheme = s.shape, p.contact_steepening = s.steep;
  return p;
}

class cube_symmetries : public testing::TestWithParam<scheme> {};

/// Equal values; zeros of either sign are equal.
void expect_equal(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t c = 0; c < a.size(); ++c) ASSERT_EQ(a[c], b[c]) << c;
}

TEST_P(cube_symmetries, keep_every_bit) {
  hydro_parameters p = parameters_of(GetParam());
  p.density_floor = 1.2;
  const int n = 8, n_var = variable_count(p.n_species);
  const auto tile = random_tile(p, n, 23, 15.0), old = interior(random_tile(p, n, 24, 15.0), n, n_var);
  const stage_values base = run_stage(p, {tile.data(), old.data(), n, 0.25, 0.01, 0.25});
  ASSERT_EQ(base.out.first_bad_cell, -1);
  for (const symmetry& s : all_symmetries()) {
    const auto tile_s = mapped(tile, s, n + 2 * ghost_layers, n_var), old_s = mapped(old, s, n, n_var);
    const stage_values r = run_stage(p, {tile_s.data(), old_s.data(), n, 0.25, 0.01, 0.25});
    expect_equal(r.u, mapped(base.u, s, n, n_var));
    EXPECT_EQ(r.out.max_signal_rate, base.out.max_signal_rate);
    EXPECT_EQ(r.out.density_floors, base.out.density_floors);
    EXPECT_EQ(r.out.pressure_floors, base.out.pressure_floors);
  }
}

/// Fluxes through the lower x face become those through the mapped face.
TEST_P(cube_symmetries, mirrored_faces_have_opposite_mass_flux) {
  hydro_parameters p = parameters_of(GetParam());
  const int n = 8, n_var = variable_count(p.n_species);
  const auto tile = random_tile(p, n, 29, 15.0), old = interior(tile, n, n_var);
  const symmetry mirror{{0, 1, 2}, {true, false, false}}, turn{{1, 2, 0}, {false, false, false}};
  const auto mirrored = mapped(tile, mirror, n + 6, n_var), turned = mapped(tile, turn, n + 6, n_var);
  const stage_values base = run_stage(p, {tile.data(), old.data(), n, 0.25, 0.01, 1.0});
  const stage_values m = run_stage(p, {mirrored.data(), old.data(), n, 0.25, 0.01, 1.0});
  const stage_values t = run_stage(p, {turned.data(), old.data(), n, 0.25, 0.01, 1.0});
  for (int v = 0; v < n_var; ++v)
    for (int slow = 0; slow < n; ++slow)
      for (int fast = 0; fast < n; ++fast) {
        const double f = base.flux[0][(v * n + slow) * n + fast];  // (k, j)
        const double sign = v == i_momentum ? 1.0 : -1.0;
        ASSERT_EQ(m.flux[1][(v * n + slow) * n + fast], sign * f);
        // turn: new x is old y, new y is old z, new z is old x: the face x- is now z-, (j, i) = (old z, old y).
        const int new_v = v < i_momentum || v > i_momentum + 2 ? v : i_momentum + (v - i_momentum + 2) % 3;
        ASSERT_EQ(t.flux[4][(new_v * n + slow) * n + fast], f);
      }
}

INSTANTIATE_TEST_SUITE_P(symmetry, cube_symmetries,
                         testing::Values(scheme{reconstruction::ppm, riemann_solver::hllc, 0},
                                         scheme{reconstruction::ppm, riemann_solver::hllc_lm, 2},
                                         scheme{reconstruction::ppm, riemann_solver::hllc, 3},
                                         scheme{reconstruction::ppm, riemann_solver::hll, 0},
                                         scheme{reconstruction::mp5, riemann_solver::hllc, 2},
                                         scheme{reconstruction::plm, riemann_solver::hllc, 0},
                                         scheme{reconstruction::plm, riemann_solver::lax_friedrichs, 2},
                                         scheme{reconstruction::ppm, riemann_solver::hll, 0, hydro_scheme::full3d},
                                         scheme{reconstruction::ppm, riemann_solver::hll, 3, hydro_scheme::full3d,
                                                true}));

}  // namespace
}  // namespace plx::star
