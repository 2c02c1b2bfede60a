#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "qmc/exact/exact_diagonalization.hpp"
#include "qmc/green/coarse_graining.hpp"

namespace plx::qmc {
namespace {

using complex = std::complex<double>;
constexpr double pi = std::numbers::pi;

TEST(ImaginaryTime, FreeLevelIsStableAndAntiperiodic) {
  for (double xi : {-300.0, -1.0, 0.0, 2.0, 300.0}) {
    const double beta = 10;
    EXPECT_NEAR(free_green_tau(xi, 0, beta) + free_green_tau(xi, beta, beta), -1, 1e-15);
    EXPECT_NEAR(free_green_tau(xi, beta, beta), -1 / (1 + std::exp(beta * xi)), 1e-15);
  }
}

// A function with three poles, of which the transform subtracts only the first two moments.
TEST(ImaginaryTime, PolesHaveTheClosedForm) {
  const double beta = 5, pole[] = {-3, 0.5, 4}, weight[] = {0.3, 0.5, 0.2};
  for (int n_frequencies : {64, 512}) {
    std::vector<complex> g(n_frequencies);
    double moment = 0;
    for (int p = 0; p < 3; ++p) {
      moment += weight[p] * pole[p];
      for (int n = 0; n < n_frequencies; ++n) g[n] += weight[p] / (complex(0, matsubara_frequency(n, beta)) - pole[p]);
    }
    const imaginary_time_function f(g.data(), n_frequencies, moment, beta);
    for (double tau : {0.0, 0.01, 1.3, 4.9, 5.0}) {
      double exact = 0;
      for (int p = 0; p < 3; ++p) exact += weight[p] * free_green_tau(pole[p], tau, beta);
      EXPECT_NEAR(f(tau), exact, n_frequencies == 64 ? 2e-4 : 1e-6) << tau;
    }
  }
}

// The plaquette's Green's functions of the exact solution, in frequency and in time.
TEST(ImaginaryTime, AgreesWithExactDiagonalization) {
  const double beta = 2, u = 6, mu = -1;
  const auto c = cluster::named("2x2").value();
  const exact_diagonalization e({c.hopping({}), u, mu, beta});
  for (int k = 0; k < 4; ++k) {
    std::vector<complex> wave(4);
    for (int r = 0; r < 4; ++r) wave[r] = std::conj(c.phase(k, r)) / 2.0;
    const auto a = fermion_operator::annihilate(wave, spin::up), b = fermion_operator::create(wave, spin::up);
    std::vector<complex> g(256);
    const auto poles = e.spectrum(a, b);
    for (int n = 0; n < 256; ++n) g[n] = poles(complex(0, matsubara_frequency(n, beta)));
    const auto q = c.momentum(k);
    const double moment = dispersion{}(q[0], q[1]) - mu + u * (e.density() / 2 - 0.5);
    const imaginary_time_function f(g.data(), 256, moment, beta);
    for (double tau : {0.0, 0.2, 1.0, 2.0}) EXPECT_NEAR(f(tau), e.green_tau(a, b, tau).real(), 1e-6);
    EXPECT_NEAR(occupation(g.data(), 256, moment, beta), -2 * e.green_tau(a, b, beta).real(), 2e-6);
  }
}

// The mean over a patch of the 2x2 cluster by the midpoint rule, and the exact first moments of eps.
TEST(CoarseGraining, AgreesWithTheMidpointRule) {
  for (const auto& [a1, a2] :
       {std::pair<lattice_vector, lattice_vector>{{2, 0}, {0, 2}}, {{2, 2}, {2, -2}}, {{1, 3}, {3, -1}}}) {
    const auto c = cluster::spanned_by(a1, a2).value();
    const dispersion e{1, -0.3};
    const coarse_graining g(c, e, 64);
    double total = 0, mean = 0, square = 0;
    for (int k = 0; k < c.n_sites(); ++k) {
      const auto& p = g.patch(k);
      for (std::size_t j = 0; j < p.energies.size(); ++j) {
        total += p.weights[j] / c.n_sites();
        mean += p.weights[j] * p.energies[j] / c.n_sites();
        square += p.weights[j] * p.energies[j] * p.energies[j] / c.n_sites();
      }
    }
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_NEAR(mean, 0, 1e-11);  // over the whole zone
    EXPECT_NEAR(square, 4 + 4 * 0.09, 1e-10);
    // All patches together are the zone: the local Green's function, by the periodic midpoint rule, which converges
    // exponentially.
    const double beta = 4;
    const auto mean_green = g.green(matsubara_function(c.n_sites(), 16), 0.2, beta);
    for (int n : {0, 3}) {
      complex local = 0, direct = 0;
      for (int k = 0; k < c.n_sites(); ++k) local += mean_green(k, n) / double(c.n_sites());
      const int m = 128;
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j)
          direct +=
              1.0 / (complex(0.2, matsubara_frequency(n, beta)) - e(2 * pi * i / m, 2 * pi * j / m)) / double(m * m);
      EXPECT_LT(std::abs(local - direct), 1e-9) << n;
    }
  }
}

TEST(CoarseGraining, OnePatchIsTheSquareAroundItsMomentum) {
  const auto c = cluster::named("2x2").value();
  const coarse_graining g(c, {});
  const int k = c.find_momentum(pi, 0);
  const double beta = 14;
  const auto mean_green = g.green(matsubara_function(4, 8), -0.3, beta);
  complex direct = 0;
  const int m = 400;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) {
      const double x = pi / 2 + pi * (i + 0.5) / m, y = -pi / 2 + pi * (j + 0.5) / m;
      direct += 1.0 / (complex(-0.3, matsubara_frequency(0, beta)) - dispersion{}(x, y)) / double(m * m);
    }
  EXPECT_LT(std::abs(mean_green(k, 0) - direct), 2e-5);
}

TEST(CoarseGraining, FindsTheChemicalPotential) {
  const auto c = cluster::named("2x2").value();
  const coarse_graining one_site_energies(c, {}, 1), lattice(c, {}, 64);
  const double beta = 3;
  const matsubara_function zero(4, 128);
  const double mu = one_site_energies.find_mu(zero, 0.8, beta).value();
  double n = 0;
  for (double e : {-4.0, 0.0, 0.0, 4.0}) n += 0.5 / (1 + std::exp(beta * (e - mu)));
  EXPECT_NEAR(n, 0.8, 1e-8);
  EXPECT_NEAR(lattice.find_mu(zero, 1.0, beta).value(), 0, 1e-8);
  EXPECT_NEAR(lattice.density(zero, lattice.find_mu(zero, 0.95, beta).value(), beta), 0.95, 1e-9);
  EXPECT_FALSE(lattice.find_mu(zero, 2.5, beta));
  // A constant self-energy is a shift of mu.
  matsubara_function shift(4, 128);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 128; ++i) shift(k, i) = 0.7;
  EXPECT_NEAR(lattice.find_mu(shift, 0.9, beta).value(), lattice.find_mu(zero, 0.9, beta).value() + 0.7, 1e-6);
}

TEST(CoarseGraining, KineticEnergyHasTheClosedForm) {
  const auto c = cluster::named("2x2").value();
  const coarse_graining periodic(c, {}, 1), lattice(c, {}, 64);
  const double beta = 3, mu = -0.7;
  const matsubara_function zero(4, 256);
  double exact = 0, zone = 0;
  for (double e : {-4.0, 0.0, 0.0, 4.0}) exact += 0.5 * e / (1 + std::exp(beta * (e - mu)));
  EXPECT_NEAR(periodic.kinetic_energy(zero, mu, 0, beta), exact, 1e-5);
  const int m = 256;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) {
      const double e = dispersion{}(2 * pi * i / m, 2 * pi * j / m);
      zone += 2 * e / (1 + std::exp(beta * (e - mu))) / (m * m);
    }
  EXPECT_NEAR(lattice.kinetic_energy(zero, mu, 0, beta), zone, 1e-5);
  // A constant self-energy is a shift of mu.
  matsubara_function shift(4, 256);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 256; ++i) shift(k, i) = 0.5;
  EXPECT_NEAR(lattice.kinetic_energy(shift, mu + 0.5, 0.5, beta), zone, 1e-5);
}

TEST(CoarseGraining, ExcludingTheClusterOfThePeriodicClusterGivesItsFreeFunction) {
  const auto c = cluster::named("2x2").value();
  const coarse_graining g(c, {}, 1);
  const double beta = 2, mu = -0.5;
  matsubara_function sigma(4, 16);
  for (int k = 0; k < 4; ++k)
    for (int n = 0; n < 16; ++n) sigma(k, n) = complex(0.1 * k, -1.0 / (n + 1));
  const auto g0 = exclude_cluster(g.green(sigma, mu, beta), sigma);
  for (int k = 0; k < 4; ++k)
    for (int n = 0; n < 16; ++n) {
      const complex expected = 1.0 / (complex(mu, matsubara_frequency(n, beta)) - g.patch(k).mean());
      EXPECT_LT(std::abs(g0(k, n) - expected), 1e-13);
    }
}

TEST(CoarseGraining, SymmetrizingMakesEquivalentMomentaEqual) {
  const auto c = cluster::named("2x2").value();
  matsubara_function f(4, 2);
  for (int k = 0; k < 4; ++k)
    for (int n = 0; n < 2; ++n) f(k, n) = complex(k * k + 0.1, n);
  const int x = c.find_momentum(pi, 0), y = c.find_momentum(0, pi);
  const complex mean = 0.5 * (f(x, 1) + f(y, 1)), centre = f(0, 1);
  symmetrize(c, f);
  EXPECT_EQ(f(x, 1), f(y, 1));
  EXPECT_LT(std::abs(f(x, 1) - mean) + std::abs(f(0, 1) - centre), 1e-14);
}

}  // namespace
}  // namespace plx::qmc
