// The shares of two cells in the work of gravity at a face (kernel_riemann.hpp, work_of), through stage_output::work.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

constexpr int n = 8, edge = n + 4;

using vector = std::array<double, 3>;
using field = std::function<double(double, double, double)>;

/// The potential of a block and two layers around it, in units of cells.
std::vector<double> potential_of(const field& phi) {
  std::vector<double> values;
  for (int k = -2; k < n + 2; ++k)
    for (int j = -2; j < n + 2; ++j)
      for (int i = -2; i < n + 2; ++i) values.push_back(phi(i, j, k));
  return values;
}

/// The work in a block of density 1 and pressure 10 with a velocity.
std::vector<double> work_on(const hydro_parameters& p, const std::vector<double>& potential,
                            const std::function<vector(double, double, double)>& velocity) {
  const int m = n + 2 * ghost_layers;
  std::vector<double> tile(variable_count(0) * cells_of(m));
  for (std::size_t c = 0; c < cells_of(m); ++c) {
    const int x[3] = {static_cast<int>(c % m), static_cast<int>(c / m % m), static_cast<int>(c / m / m)};
    primitive w;
    w.density = 1.0, w.pressure = 10.0;
    w.velocity = velocity(x[0] - ghost_layers, x[1] - ghost_layers, x[2] - ghost_layers);
    to_conserved(p.eos, w, 0, &tile[c], static_cast<std::ptrdiff_t>(cells_of(m)));
  }
  const auto old = interior(tile, n, variable_count(0));
  stage_input in;
  in.tile = tile.data(), in.u_old = old.data(), in.n = n, in.place = 1.0 / n, in.dt = 1e-3;
  in.potential = potential.data();
  std::vector<double> u(old.size()), work(3 * cells_of(n));
  stage_output out;
  out.u_new = u.data(), out.work = work.data();
  const scratch_memory scratch = make_scratch(p, n);
  advance_block(p, in, out, scratch.get());
  return work;
}

class work_of : public testing::TestWithParam<hydro_scheme> {
 protected:
  static hydro_parameters parameters() {
    hydro_parameters p;
    p.scheme = GetParam();
    return p;
  }
};
INSTANTIATE_TEST_SUITE_P(schemes, work_of, testing::Values(hydro_scheme::faces, hydro_scheme::full3d),
                         [](const auto& i) { return i.param == hydro_scheme::faces ? "faces" : "full3d"; });

// The work is momentum times acceleration. Equal shares would add 1 in a cubic potential.
TEST_P(work_of, a_cubic_potential_in_uniform_flow_is_exact) {
  const auto work = work_on(parameters(), potential_of([](double x, double y, double z) {
                              return std::pow(x + 3, 3) - 2 * std::pow(y + 4, 3) + std::pow(z + 5, 3);
                            }),
                            [](double, double, double) {
                              return vector{0.3, -0.2, 0.1};
                            });
  for (int c = 0; c < static_cast<int>(cells_of(n)); ++c) {
    const double x = c % n + 3, y = c / n % n + 4, z = c / n / n + 5;
    ASSERT_NEAR(work[c], 0.3 * 3 * x * x, 1e-10);
    ASSERT_NEAR(work[cells_of(n) + c], 0.2 * 6 * y * y, 1e-10);
    ASSERT_NEAR(work[2 * cells_of(n) + c], 0.1 * 3 * z * z, 1e-10);
  }
}

// Gas that expands uniformly; equal shares would add a quarter of the gradients' product.
TEST_P(work_of, a_quadratic_potential_in_expanding_gas_is_exact) {
  const auto work = work_on(parameters(), potential_of([](double x, double y, double z) {
                              return std::pow(x + 3, 2) + std::pow(y + 4, 2) + std::pow(z + 5, 2);
                            }),
                            [](double x, double y, double z) {
                              return vector{0.01 * (x + 3), 0.01 * (y + 4), 0.01 * (z + 5)};
                            });
  for (int c = 0; c < static_cast<int>(cells_of(n)); ++c) {
    const double x[3] = {c % n + 3.0, c / n % n + 4.0, c / n / n + 5.0};
    for (int a = 0; a < 3; ++a)
      ASSERT_NEAR(work[a * cells_of(n) + c], 0.01 * x[a] * 2 * x[a], 2e-3 * x[a] * x[a] * 0.01);
  }
}

// Beyond the lower x face are no cells of this level: its work is shared equally, and the upper face is not concerned.
TEST_P(work_of, a_face_between_levels_is_shared_equally) {
  const field phi = [](double x, double, double) { return std::pow(x + 3, 3); };
  const auto flow = [](double x, double, double) { return vector{0.1 + 0.01 * x, 0, 0}; };
  auto potential = potential_of(phi);
  const auto whole = work_on(parameters(), potential, flow);
  for (int r = 0; r < edge * edge; ++r) potential[r * edge] = std::numeric_limits<double>::quiet_NaN();
  const auto work = work_on(parameters(), potential, flow);
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const int c = (k * n + j) * n + i;
        if (i > 0)
          ASSERT_EQ(work[c], whole[c]) << i;
        else
          ASSERT_NE(work[c], whole[c]);
        ASSERT_TRUE(std::isfinite(work[c]));
      }
  // The momentum at the lower face is 0.095; the share of the upper face is known from the block without NaN.
  const double share = 0.5 * 0.095 * (phi(0, 0, 0) - phi(-1, 0, 0));
  const double curvature = 6 * 2, change = 0.01, difference = phi(0, 0, 0) - phi(-1, 0, 0);
  EXPECT_NEAR(whole[0] - work[0], change * difference / 12 + 0.095 * curvature / 6, 1e-3 * share);
}

// A dense body moves into thin gas: neither cell receives work of the opposite sign.
TEST_P(work_of, shares_keep_the_sign_of_the_sum) {
  const auto work =
      work_on(parameters(), potential_of([](double x, double, double) { return x; }), [](double x, double, double) {
        return vector{x < 4 ? 0.0 : 1.0, 0, 0};
      });
  for (double w : work) EXPECT_GE(w, 0.0);
}

}  // namespace
}  // namespace plx::star
