#include <gtest/gtest.h>

#include <cmath>

#include "num/dense/linear_algebra.hpp"
#include "qmc/green/coarse_graining.hpp"
#include "qmc/pairing/bethe_salpeter.hpp"
#include "qmc/test/chi_squared.hpp"
#include "qmc/test/plaquette.hpp"
#include "rt/runtime.hpp"

namespace plx::qmc {
namespace {

using complex = std::complex<double>;

using test::exact_plaquette, test::periodic_plaquette;

TEST(PairFunction, WithoutInteractionItIsTheProductOfGreensFunctions) {
  const auto p = periodic_plaquette(0, 2, -0.3);
  pair_accumulator a(*p.lattice, p.g0, p.beta, 3);
  snapshot s;  // no vertices
  vertex_transform transform(*p.lattice, p.beta, 5);
  transform.take(s);
  a.add(transform);
  const auto pairs = a.take();
  const exact_plaquette exact(p);
  for (int k = 0; k < 4; ++k)
    for (int n = -3; n < 3; ++n)
      for (int m = -3; m < 3; ++m) {
        const double expected = n == m ? std::norm(p.g0(n >= 0 ? k : p.lattice->negative(k), n >= 0 ? n : -1 - n)) : 0;
        EXPECT_NEAR(pairs(a.index()(k, n), a.index()(k, m)), expected, 1e-12);
        if (k == 1 && n == 0) {
          EXPECT_LT(std::abs(exact.pair(k, n, k, m) - expected), 1e-12);
        }
      }
}

// Elements of the pair function within their errors, and by chi-squared.
TEST(PairFunction, AgreesWithExactDiagonalization) {
  const auto p = periodic_plaquette(4, 1, -0.5);
  runtime rt({.workers = 2, .bind = false});
  const auto r = rt.run([&] {
    return async_monte_carlo(
               p, {.walkers = 4, .bins = 20, .measurements = 60, .sweeps = 2, .pair_frequencies = 2, .batch = 16})
        .get();
  });
  const pair_index index{4, 2};
  const exact_plaquette exact(p);
  const int x = p.lattice->find_momentum(M_PI, 0), y = p.lattice->find_momentum(0, M_PI),
            corner = p.lattice->find_momentum(M_PI, M_PI);
  struct element {
    int k, n, k2, n2;
  };
  const std::vector<element> elements = {{x, 0, x, 0},      {x, 0, y, 0},          {x, 0, x, -1}, {x, 0, y, 1},
                                         {0, 0, corner, 0}, {0, 1, 0, 1},          {x, 0, 0, 1},  {x, 1, y, -2},
                                         {corner, 0, x, 0}, {corner, 1, corner, 0}};
  const auto values = jackknife(rows_of(r), [&](std::span<const double> means) {
    const auto pairs = pairs_of(p, 2, means);
    std::vector<double> v;
    for (const auto& e : elements) v.push_back(pairs(index(e.k, e.n), index(e.k2, e.n2)));
    return v;
  });
  double chi_squared = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto& e = elements[i];
    const complex truth = exact.pair(e.k, e.n, e.k2, e.n2);
    EXPECT_NEAR(truth.imag(), 0, 1e-12);
    EXPECT_LT(std::abs(values[i].value - truth.real()), 4 * values[i].error)
        << i << ": " << values[i].value << " " << truth.real();
    EXPECT_LT(values[i].error, 0.05 * std::norm(p.g0(x, 0)));
    chi_squared += std::pow((values[i].value - truth.real()) / values[i].error, 2);
  }
  EXPECT_GT(test::chi_squared_p_value(chi_squared, static_cast<int>(elements.size())), 0.01);
}

// A vertex that is known: a constant attraction in the d-wave channel, put into P by P^-1 = P0^-1 - Gamma.
TEST(BetheSalpeter, EigenvalueOfASeparableVertex) {
  const auto c = cluster::named("2x2").value();
  const double beta = 3, strength = 0.4;
  const coarse_graining grain(c, {});
  const int n_w = 4;
  const matsubara_function sigma(4, 16);
  const auto g = grain.green(sigma, -0.2, beta), bubble = grain.pair_bubble(sigma, -0.2, beta, n_w);
  const pair_index index{4, n_w};
  const auto form = [&](int x) {
    const auto q = c.momentum(x / (2 * n_w));
    return std::cos(q[0]) - std::cos(q[1]);
  };
  real_matrix pairs(index.size(), index.size());
  double expected = 0;
  for (int k = 0; k < 4; ++k)
    for (int n = -n_w; n < n_w; ++n) {
      const int x = index(k, n), m = n >= 0 ? n : -1 - n;
      pairs(x, x) = 1 / std::norm(g(k, m));
      expected += strength * form(x) * form(x) * bubble(k, m).real();
      for (int y = 0; y < index.size(); ++y) pairs(x, y) -= strength * form(x) * form(y);
    }
  EXPECT_NE(invert(pairs).sign, 0);
  const auto s = solve_pairing(c, index, pairs, g, bubble).value();
  EXPECT_NEAR(s.d_wave, expected, 1e-9);
  EXPECT_NEAR(s.leading, expected, 1e-9);
  EXPECT_NEAR(s.d_wave_overlap, 1, 1e-9);
}

// The cluster's own pair susceptibility: with the bubble of the cluster itself, P = P0^1/2 (1 - lambda)^-1 P0^1/2.
TEST(BetheSalpeter, ExactPairFunctionOfThePlaquette) {
  const auto p = periodic_plaquette(4, 2, 0);
  const exact_plaquette exact(p);
  const int n_w = 1;
  const pair_index index{4, n_w};
  real_matrix pairs(index.size(), index.size());
  matsubara_function g(4, n_w), bubble(4, n_w);
  for (int k = 0; k < 4; ++k) {
    g(k, 0) = exact.e.green(exact.of(k, false, spin::up), exact.of(k, true, spin::up), 0);
    bubble(k, 0) = std::norm(g(k, 0));
    for (int n = -1; n < 1; ++n)
      for (int k2 = 0; k2 < 4; ++k2)
        for (int n2 = -1; n2 < 1; ++n2) pairs(index(k, n), index(k2, n2)) = exact.pair(k, n, k2, n2).real();
  }
  const auto s = solve_pairing(*p.lattice, index, pairs, g, bubble).value();
  const int x = p.lattice->find_momentum(M_PI, 0), y = p.lattice->find_momentum(0, M_PI);
  double d_wave_pairs = 0;  // d-wave and even in frequency: an eigenvector of P by symmetry
  for (int k : {x, y})
    for (int n : {-1, 0}) d_wave_pairs += pairs(index(x, 0), index(k, n)) * (k == x ? 1 : -1);
  EXPECT_NEAR(1 / (1 - s.d_wave), d_wave_pairs / bubble(x, 0).real(), 1e-9);
  EXPECT_GT(s.d_wave, 0);
}

}  // namespace
}  // namespace plx::qmc
