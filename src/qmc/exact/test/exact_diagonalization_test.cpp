#include "qmc/exact/exact_diagonalization.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace plx::qmc {
namespace {

using complex = std::complex<double>;

double frequency(int n, double beta) { return (2 * n + 1) * M_PI / beta; }

exact_diagonalization atom(double u, double mu, double beta) {
  return exact_diagonalization({real_matrix(1, 1), u, mu, beta});
}

exact_diagonalization dimer(double u, double mu, double beta, double t = 1) {
  real_matrix h(2, 2);
  h(0, 1) = h(1, 0) = -t;
  return exact_diagonalization({h, u, mu, beta});
}

// The 2x2 cluster with periodic boundaries: hopping 2t on each of its four bonds.
exact_diagonalization plaquette(double u, double mu, double beta) {
  real_matrix h(4, 4);
  for (int i : {0, 3})
    for (int j : {1, 2}) h(i, j) = h(j, i) = -2;
  return exact_diagonalization({h, u, mu, beta});
}

fermion_operator site(int i, int n, bool creates, spin s = spin::up) {
  std::vector<complex> c(n, 0.0);
  c[i] = 1;
  return {creates, s, c};
}

TEST(ExactDiagonalization, AtomHasTheClosedForm) {
  const double u = 3.1, mu = 0.7, beta = 2.3;
  const auto e = atom(u, mu, beta);
  const double empty = std::exp(-beta * u / 4), single = std::exp(beta * (u / 4 + mu)),
               pair = std::exp(-beta * (u / 4 - 2 * mu)), z = empty + 2 * single + pair;
  EXPECT_NEAR(e.log_partition_function(), std::log(z), 1e-13);
  EXPECT_NEAR(e.density(), 2 * (single + pair) / z, 1e-14);
  EXPECT_NEAR(e.double_occupancy(), pair / z, 1e-14);
  EXPECT_NEAR(e.energy(), u / 4 * (empty + pair - 2 * single) / z, 1e-13);
  const double n = e.density() / 2;
  for (int k : {-3, 0, 1, 20}) {
    const complex iw(0, frequency(k, beta));
    const complex g = (1 - n) / (iw + mu + u / 2) + n / (iw + mu - u / 2);
    for (spin s : {spin::up, spin::down})
      EXPECT_LT(std::abs(e.green(site(0, 1, false, s), site(0, 1, true, s), k) - g), 1e-13);
  }
  for (double tau : {0.0, 0.4, beta}) {
    const double expected = -(std::exp(tau * (mu + u / 2)) * empty + std::exp(tau * (mu - u / 2)) * single) / z;
    EXPECT_NEAR(e.green_tau(site(0, 1, false), site(0, 1, true), tau).real(), expected, 1e-14);
  }
}

TEST(ExactDiagonalization, DimerHasTheClosedForm) {
  const double u = 4.2, mu = -0.6, beta = 1.7, t = 0.8;
  const auto e = dimer(u, mu, beta, t);
  const auto log_z = [&](double interaction, double hop, double potential) {
    const double root = 0.5 * std::sqrt(interaction * interaction + 16 * hop * hop);
    const auto term = [&](double energy, int n) { return std::exp(-beta * (energy - potential * n)); };
    return std::log(term(interaction / 2, 0) + term(interaction / 2, 4) + 2 * (term(hop, 1) + term(-hop, 1)) +
                    2 * (term(hop, 3) + term(-hop, 3)) + 3 * term(-interaction / 2, 2) + term(interaction / 2, 2) +
                    term(root, 2) + term(-root, 2));
  };
  EXPECT_NEAR(e.log_partition_function(), log_z(u, t, mu), 1e-12);
  const double h = 1e-4;
  const auto derivative = [&](auto&& f) { return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h); };
  const double n = derivative([&](double d) { return log_z(u, t, mu + d); }) / beta / 2;
  const double pairs = -derivative([&](double d) { return log_z(u + d, t, mu); }) / beta / 2 - 0.25 + n / 2;
  const double kinetic = -derivative([&](double d) { return log_z(u, t * (1 + d), mu); }) / beta / 2;
  EXPECT_NEAR(e.density(), n, 1e-9);
  EXPECT_NEAR(e.double_occupancy(), pairs, 1e-9);
  EXPECT_NEAR(e.energy(), kinetic + u * (pairs - n / 2 + 0.25), 1e-9);
}

// At zero temperature and half filling the self-energy has one pole: U^2/4 / (iw - 3t) for the bonding orbital.
TEST(ExactDiagonalization, SelfEnergyOfTheDimer) {
  const double u = 4, beta = 60, s = 1 / std::sqrt(2.0);
  const auto e = dimer(u, 0, beta);
  for (double sign : {1.0, -1.0})
    for (int k : {0, 3, 30}) {
      const complex iw(0, frequency(k, beta));
      const std::vector<complex> orbital{s, s * sign};
      const complex g =
          e.green(fermion_operator::annihilate(orbital, spin::up), fermion_operator::create(orbital, spin::up), k);
      EXPECT_LT(std::abs(iw + sign - 1.0 / g - u * u / 4 / (iw - 3 * sign)), 1e-9);
    }
}

TEST(ExactDiagonalization, FreePlaquette) {
  const double mu = -0.4, beta = 1.3;
  const auto e = plaquette(0, mu, beta);
  const double epsilon[4] = {-4, 0, 0, 4};
  double n = 0;
  for (int k = 0; k < 4; ++k) {
    n += 2 / (1 + std::exp(beta * (epsilon[k] - mu))) / 4;
    const double sx = k & 1 ? -1 : 1, sy = k & 2 ? -1 : 1;
    const std::vector<complex> plane{0.5, 0.5 * sx, 0.5 * sy, 0.5 * sx * sy};
    for (int m : {0, 5}) {
      const complex g =
          e.green(fermion_operator::annihilate(plane, spin::down), fermion_operator::create(plane, spin::down), m);
      EXPECT_LT(std::abs(g - 1.0 / (complex(0, frequency(m, beta)) + mu - epsilon[k])), 1e-13);
    }
  }
  EXPECT_NEAR(e.density(), n, 1e-13);
  EXPECT_NEAR(e.double_occupancy(), n * n / 4, 1e-13);
}

// Density from G(beta), and the interaction energy from the first moment (Galitskii, Migdal).
TEST(ExactDiagonalization, PlaquetteObeysTheEquationOfMotion) {
  const double u = 6, mu = -1, beta = 2;
  const auto e = plaquette(u, mu, beta);
  const auto a = site(0, 4, false), b = site(0, 4, true);
  EXPECT_NEAR(-2 * e.green_tau(a, b, beta).real(), e.density(), 1e-12);
  EXPECT_NEAR(-e.green_tau(a, b, 0).real() - e.green_tau(a, b, beta).real(), 1, 1e-12);
  const double h = 1e-3;  // one-sided derivative of fourth order at tau = beta
  const auto g = [&](int k) { return e.green_tau(a, b, beta - k * h).real(); };
  const double slope = (25 * g(0) - 48 * g(1) + 36 * g(2) - 16 * g(3) + 3 * g(4)) / (12 * h);
  const double kinetic = e.energy() - u * (e.double_occupancy() - e.density() / 2 + 0.25);
  // dG/dtau at beta, both spins: -<c+ [H, c]> = kinetic energy + 2 U D - (U / 2 + mu) n
  EXPECT_NEAR(2 * slope, kinetic + 2 * u * e.double_occupancy() - (u / 2 + mu) * e.density(), 1e-7);
}

// Without interaction the two-particle function is a determinant of Green's functions (Wick).
TEST(ExactDiagonalization, FreeTwoParticleFunctionIsADeterminant) {
  const double mu = 0.3, beta = 1.1;
  const auto e = dimer(0, mu, beta);
  const auto g = [&](int i, int j, int n) { return e.green(site(i, 2, false), site(j, 2, true), n); };
  for (auto [n1, n2, n3] : {std::array{0, -1, 0}, {0, -1, 2}, {2, -3, 1}, {1, -3, 2}, {0, -2, 1}}) {
    const int n4 = -2 - n1 - n2 - n3;  // the fourth frequency is minus the sum of the others; (2n + 1) -> -(2n + 1)
    for (int down : {0, 1}) {
      const spin s = down ? spin::down : spin::up;
      const auto value = e.two_particle(
          {site(0, 2, false), site(1, 2, true), site(1, 2, false, s), site(0, 2, true, s)}, {n1, n2, n3});
      complex expected = 0;
      if (n1 + n2 == -1) expected += beta * g(0, 1, n1) * g(1, 0, n3);
      if (!down && n2 + n3 == -1) expected -= beta * g(0, 0, n1) * g(1, 1, n3);
      EXPECT_LT(std::abs(value - expected), 1e-12) << n1 << n2 << n3 << n4 << down;
    }
  }
}

// The full vertex of the half-filled atom for parallel spins:
// F = beta U^2/4 (delta_nn' - delta_w0)(1 + U^2/4nu^2)(1 + U^2/4(nu' + w)^2).
TEST(ExactDiagonalization, VertexOfTheAtom) {
  const double u = 2.7, beta = 3.1;
  const auto e = atom(u, 0, beta);
  const auto g = [&](int n) { return e.green(site(0, 1, false), site(0, 1, true), n); };
  const auto factor = [&](int n) { return 1 + u * u / 4 / std::pow(frequency(n, beta), 2); };
  for (int w : {0, 1, -2})
    for (int n : {-2, 0, 1})
      for (int m : {-1, 0, 1}) {
        // <T c+(tau1) c(tau2) c+(tau3) c(0)> at -nu, nu + w, -(nu' + w).
        const auto full = e.two_particle({site(0, 1, true), site(0, 1, false), site(0, 1, true), site(0, 1, false)},
                                         {-1 - n, n + w, -1 - m - w});
        const complex free = beta * ((w == 0) - (n == m)) * g(n) * g(m + w);
        const complex vertex = -(full - free) / (g(n) * g(n + w) * g(m) * g(m + w));
        EXPECT_NEAR(std::abs(vertex - beta * u * u / 4 * ((n == m) - (w == 0)) * factor(n) * factor(m + w)), 0, 1e-9)
            << w << n << m;
      }
}

// Exchanging two operators changes the sign, with degenerate levels and on four sites.
TEST(ExactDiagonalization, TwoParticleFunctionIsAntisymmetric) {
  const auto e = plaquette(4, -0.5, 1.5);
  const auto a = site(0, 4, false), b = site(1, 4, false, spin::down), c = site(2, 4, true),
             d = site(3, 4, true, spin::down);
  const auto one = e.two_particle({a, b, c, d}, {0, -1, 1}), two = e.two_particle({b, a, c, d}, {-1, 0, 1});
  EXPECT_GT(std::abs(one), 1e-4);
  EXPECT_LT(std::abs(one + two), 1e-12);
}

}  // namespace
}  // namespace plx::qmc
