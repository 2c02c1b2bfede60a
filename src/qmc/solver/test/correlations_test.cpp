#include "qmc/measure/correlations.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "qmc/exact/exact_diagonalization.hpp"
#include "qmc/green/coarse_graining.hpp"
#include "qmc/solver/monte_carlo.hpp"
#include "rt/runtime.hpp"

namespace plx::qmc {
namespace {

using complex = std::complex<double>;

fermion_operator at(int site, int n, bool creates, spin s) {
  std::vector<complex> c(n);
  c[site] = 1;
  return {creates, s, c};
}

// Correlations of the periodic 2x2 cluster by exact diagonalization.
struct exact_correlations {
  exact_correlations(const impurity& p, double t_prime)
      : cluster_(*p.lattice), e({p.lattice->hopping({1, t_prime}), p.u, p.mu, p.beta}) {
    const int n = cluster_.n_sites();
    for (int r = 0; r < n; ++r) {
      const double uu = both(spin::up, spin::up, 0, r, false), ud = both(spin::up, spin::down, 0, r, false);
      const double uu_t = both(spin::up, spin::up, 0, r, true), ud_t = both(spin::up, spin::down, 0, r, true);
      values.spin.push_back(0.5 * (uu - ud));
      values.charge.push_back(2 * (uu + ud) - e.density() * e.density());
      values.spin_susceptibility.push_back(0.5 * (uu_t - ud_t));
      values.charge_susceptibility.push_back(2 * (uu_t + ud_t) - p.beta * e.density() * e.density());
    }
    // D = N^-1/2 sum_K f(K) c_Ku c_-Kd, each c_K by its coefficients over sites.
    for (int f = 0; f < n_form_factors; ++f)
      for (int k = 0; k < n; ++k)
        for (int q = 0; q < n; ++q)
          values.pairs[f] += form(f, k) * form(f, q) / n *
                             e.susceptibility({wave(k, false, spin::up), wave(cluster_.negative(k), false, spin::down)},
                                              {wave(cluster_.negative(q), true, spin::down), wave(q, true, spin::up)})
                                 .real();
  }
  double form(int f, int k) const {
    const auto q = cluster_.momentum(k);
    return f == 0 ? 1 : std::cos(q[0]) + (f == 1 ? 1 : -1) * std::cos(q[1]);
  }
  fermion_operator wave(int k, bool creates, spin s) const {
    std::vector<complex> c(cluster_.n_sites());
    for (std::size_t r = 0; r < c.size(); ++r)
      c[r] = std::conj(cluster_.phase(k, static_cast<int>(r))) / std::sqrt(double(c.size()));
    return {creates, s, c};
  }
  double both(spin s, spin t, int i, int j, bool over_time) const {
    const int n = cluster_.n_sites();
    const fermion_product a = {at(i, n, true, s), at(i, n, false, s)}, b = {at(j, n, true, t), at(j, n, false, t)};
    return (over_time ? e.susceptibility(a, b) : e.correlation(a, b)).real();
  }
  const cluster& cluster_;
  exact_diagonalization e;
  cluster_correlations values;
};

std::vector<double> list_of(const cluster_correlations& c) {
  std::vector<double> all = {c.density, c.double_occupancy};
  for (const auto& v : {c.spin, c.charge, c.spin_susceptibility, c.charge_susceptibility})
    all.insert(all.end(), v.begin(), v.end());
  all.insert(all.end(), c.pairs.begin(), c.pairs.end());
  return all;
}

TEST(Correlations, AgreeWithTheExactSolution) {
  // The last problem has a mean sign of 0.7, the weight of each measurement.
  for (const auto& [u, beta, mu, t_prime] :
       {std::tuple(4.0, 1.0, 0.0, 0.0), std::tuple(6.0, 2.0, -1.0, 0.0), std::tuple(8.0, 4.0, -2.0, -0.3)}) {
    impurity p;
    p.lattice = std::make_shared<const cluster>(cluster::named("2x2").value());
    p.u = u;
    p.beta = beta;
    p.mu = mu;
    const coarse_graining grain(*p.lattice, {1, t_prime}, 1);
    p.g0 = grain.green(matsubara_function(4, 64), mu, beta);
    for (int k = 0; k < 4; ++k) p.moments.push_back(grain.patch(k).mean() - mu);
    runtime rt({.workers = 2, .bind = false});
    const auto r = rt.run([&] {
      return async_monte_carlo(
                 p,
                 {.walkers = 4, .bins = 60, .measurements = t_prime == 0 ? 25 : 100, .sweeps = 2, .correlations = true})
          .get();
    });
    exact_correlations exact(p, t_prime);
    exact.values.density = exact.e.density();
    exact.values.double_occupancy = exact.e.double_occupancy();
    const auto expected = list_of(exact.values);
    const auto found =
        jackknife(rows_of(r), [&](std::span<const double> row) { return list_of(correlations_of(p, row)); });
    ASSERT_EQ(found.size(), expected.size());
    int outside = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double deviation = std::abs(found[i].value - expected[i]);
      EXPECT_LT(deviation, 4 * found[i].error + 1e-5) << i << ": " << found[i].value << " " << expected[i];
      EXPECT_LT(found[i].error, 0.05 * std::abs(expected[i]) + 0.03) << i;
      outside += deviation > 2 * found[i].error + 1e-5;
    }
    EXPECT_LE(outside, 3);  // of 21, which are correlated
  }
}

}  // namespace
}  // namespace plx::qmc
