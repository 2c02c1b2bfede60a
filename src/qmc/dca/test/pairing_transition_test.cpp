// The path to T_c against exact diagonalization: the lattice has the self-energy and the vertex of the plaquette.
#include <gtest/gtest.h>

#include <cmath>

#include "num/dense/linear_algebra.hpp"
#include "qmc/dca/conclude.hpp"
#include "qmc/dca/function_results.hpp"
#include "qmc/pairing/bethe_salpeter.hpp"
#include "qmc/test/chi_squared.hpp"
#include "qmc/test/plaquette.hpp"
#include "rt/runtime.hpp"

namespace plx::qmc {
namespace {

using complex = std::complex<double>;
using test::exact_plaquette, test::periodic_plaquette;

struct model {
  double u, mu, t_prime;
  impurity at(double temperature) const { return periodic_plaquette(u, 1 / temperature, mu, t_prime); }
};

// The largest d-wave eigenvalue without code of the program. Vectors that are even in frequency and odd under exchange
// of x and y leave a matrix over positive frequencies; the bubble is the midpoint rule over the patch of (pi, 0).
double exact_d_wave(const model& of, double temperature, int n_w) {
  const exact_plaquette exact(of.at(temperature), of.t_prime);
  const int x = exact.p.lattice->find_momentum(M_PI, 0), y = exact.p.lattice->find_momentum(0, M_PI);
  real_matrix inverse(n_w, n_w), kernel(n_w, n_w);
  std::vector<double> green_squared, bubble;
  for (int n = 0; n < n_w; ++n) {
    for (int m = 0; m < n_w; ++m)
      for (int m2 : {m, -1 - m}) inverse(n, m) += (exact.pair(x, n, x, m2) - exact.pair(x, n, y, m2)).real();
    const auto g = exact.e.green(exact.of(x, false, spin::up), exact.of(x, true, spin::up), n);
    green_squared.push_back(std::norm(g));
    constexpr int points = 200;
    double sum = 0;
    for (int i = 0; i < points; ++i)
      for (int j = 0; j < points; ++j) {
        const double kx = M_PI * (0.5 + (i + 0.5) / points), ky = M_PI * (-0.5 + (j + 0.5) / points);
        const double eps = -2 * (std::cos(kx) + std::cos(ky)) - 4 * of.t_prime * std::cos(kx) * std::cos(ky);
        // iw + mu - Sigma = 1 / G + eps(pi, 0), with eps(pi, 0) = 4 t'.
        sum += 1 / std::norm(1.0 / g + 4 * of.t_prime - eps);
      }
    bubble.push_back(sum / (points * points));
  }
  EXPECT_NE(invert(inverse).sign, 0);
  for (int n = 0; n < n_w; ++n)
    for (int m = 0; m < n_w; ++m)
      kernel(n, m) = std::sqrt(bubble[n] * bubble[m]) * ((n == m ? 1 / green_squared[n] : 0) - inverse(n, m));
  return diagonalize_symmetric(kernel).back();
}

// By the program, from exact functions of the plaquette.
double solved_d_wave(const model& of, double temperature, int n_w) {
  const exact_plaquette exact(of.at(temperature), of.t_prime);
  const double beta = exact.p.beta;
  const pair_index index{4, n_w};
  real_matrix pairs(index.size(), index.size());
  matsubara_function g(4, n_w), sigma(4, n_w);
  for (int k = 0; k < 4; ++k)
    for (int n = 0; n < n_w; ++n) {
      const auto q = exact.p.lattice->momentum(k);
      g(k, n) = exact.e.green(exact.of(k, false, spin::up), exact.of(k, true, spin::up), n);
      sigma(k, n) =
          complex(of.mu - dispersion{1, of.t_prime}(q[0], q[1]), matsubara_frequency(n, beta)) - 1.0 / g(k, n);
      for (int k2 = 0; k2 < 4; ++k2)
        for (int n2 = -n_w; n2 < n_w; ++n2) {
          const int minus = exact.p.lattice->negative(k), minus2 = exact.p.lattice->negative(k2);
          pairs(index(k, n), index(k2, n2)) = pairs(index(minus, -1 - n), index(minus2, -1 - n2)) =
              exact.pair(k, n, k2, n2).real();
        }
    }
  const coarse_graining lattice(*exact.p.lattice, {1, of.t_prime});
  const auto solved = solve_pairing(*exact.p.lattice, index, pairs, g, lattice.pair_bubble(sigma, of.mu, beta, n_w));
  EXPECT_NEAR(solved.value().d_wave_overlap, 1, 1e-9);
  return solved.value().d_wave;
}

// By Monte Carlo of the plaquette, as in the last iteration of a temperature.
estimate measured_d_wave(const model& of, double temperature, int n_w) {
  const auto p = of.at(temperature);
  const coarse_graining lattice(*p.lattice, {1, of.t_prime});
  const transfer_bubble bubble(*p.lattice, {1, of.t_prime}, true);
  const four_point_set none;
  dca_options o;
  o.u = of.u;
  o.t_prime = of.t_prime;
  o.pair_frequencies = n_w;
  o.correlations = false;
  function_results no_results({}, none, bubble, o.expansion_k);
  runtime rt({.workers = 2, .bind = false});
  return rt.run([&] {
    const auto r = async_monte_carlo(p, {.walkers = 4, .bins = 10, .measurements = 200, .pair_frequencies = n_w}).get();
    dca_temperature t;
    EXPECT_TRUE(conclude(o, lattice, {no_results, none, {}}, p, rows_of(r), nullptr, t).value());
    EXPECT_GT(t.d_wave_overlap, 0.99);
    return t.d_wave.value();
  });
}

TEST(PairingTransition, MeasuredEigenvaluesAreExactWithinTheirErrors) {
  const model half_filled{6, 0, 0};
  double chi_squared = 0;
  for (const double t : {0.4, 0.2}) {
    const double exact = exact_d_wave(half_filled, t, 2);
    const auto measured = measured_d_wave(half_filled, t, 2);
    EXPECT_LT(measured.error, 0.05);
    EXPECT_LT(std::abs(measured.value - exact), 3.5 * measured.error) << measured.value << " " << exact;
    chi_squared += std::pow((measured.value - exact) / measured.error, 2);
  }
  EXPECT_GT(test::chi_squared_p_value(chi_squared, 2), 0.01);
}

// With doping and t' the exact eigenvalue reaches 1; Monte Carlo would have a sign.
TEST(PairingTransition, TransitionOfExactEigenvalues) {
  const model doped{6, -1.4, -0.2};
  const double t[] = {0.2, 0.12};
  double exact[2];
  dca_state state;
  for (int i = 0; i < 2; ++i) {
    exact[i] = exact_d_wave(doped, t[i], 1);
    const double solved = solved_d_wave(doped, t[i], 1);
    EXPECT_NEAR(solved, exact[i], 1e-4 * exact[i]);
    EXPECT_EQ(i == 0, solved < 1);
    state.t.push_back(t[i]);
    state.d_wave.push_back({solved, 0.01});
  }
  // The straight line in ln T.
  const double t_c = t[0] * std::pow(t[1] / t[0], (1 - exact[0]) / (exact[1] - exact[0]));
  const auto transition = outcome_of(state).transition;
  ASSERT_TRUE(transition.has_value());
  EXPECT_NEAR(transition->value, t_c, 2e-4 * t_c);
  EXPECT_NEAR(t_c, 0.16737, 1e-4);
}

}  // namespace
}  // namespace plx::qmc
