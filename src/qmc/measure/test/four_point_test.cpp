#include "qmc/measure/four_point.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "qmc/pairing/transfer_bubble.hpp"
#include "qmc/test/chi_squared.hpp"
#include "qmc/test/plaquette.hpp"
#include "rt/runtime.hpp"

namespace plx::qmc {
namespace {

using complex = std::complex<double>;
using channel = four_point_channel;
using test::exact_plaquette, test::periodic_plaquette;

constexpr channel all_channels[] = {channel::particle_particle, channel::magnetic, channel::charge,
                                    channel::transverse};

// By Lehmann sums, from the definitions in four_point.hpp.
complex exact_function(const exact_plaquette& exact, const four_point& f, int k, int n, int k2, int n2) {
  const cluster& c = *exact.p.lattice;
  const auto [p, m] = f.partner(c, k, n);
  const auto [p2, m2] = f.partner(c, k2, n2);
  const auto create = [&](int q, spin s) { return exact.of(q, true, s); };
  const auto annihilate = [&](int q, spin s) { return exact.of(q, false, s); };
  const double beta = exact.p.beta;
  if (f.channel == channel::particle_particle)
    return exact.e.two_particle(
               {annihilate(k, spin::up), annihilate(p, spin::down), create(p2, spin::down), create(k2, spin::up)},
               {n, m, -1 - m2}) /
           beta;
  const auto of_spins = [&](spin s1, spin s2, spin s3, spin s4) {
    return exact.e.two_particle({create(k, s1), annihilate(p, s2), create(p2, s3), annihilate(k2, s4)},
                                {-1 - n, m, -1 - m2}) /
           beta;
  };
  if (f.channel == channel::transverse) return of_spins(spin::up, spin::down, spin::down, spin::up);
  // Up and down are equivalent.
  const complex equal = of_spins(spin::up, spin::up, spin::up, spin::up),
                mixed = of_spins(spin::up, spin::up, spin::down, spin::down);
  return f.channel == channel::magnetic ? equal - mixed : equal + mixed;
}

four_point_set every_channel(const cluster& c, int n_frequencies) {
  four_point_set set;
  set.n_frequencies = n_frequencies;
  const int corner = c.find_momentum(M_PI, M_PI), x = c.find_momentum(M_PI, 0);
  for (const auto f : all_channels)
    for (const auto& [q, m] : {std::pair(0, 0), std::pair(corner, 0), std::pair(x, 1)})
      set.functions.push_back({f, q, m});
  return set;
}

TEST(FourPoint, WithoutInteractionFunctionsAreExact) {
  const auto p = periodic_plaquette(0, 2, -0.3);
  const auto set = every_channel(*p.lattice, 2);
  vertex_transform transform(*p.lattice, p.beta, set.n_transformed());
  four_point_accumulator a(*p.lattice, p.g0, p.beta, set);
  snapshot s;  // no vertices
  transform.take(s);
  a.add(transform);
  const auto sums = a.take();
  const exact_plaquette exact(p);
  const pair_index window{4, 2};
  const int x = p.lattice->find_momentum(M_PI, 0);
  for (std::size_t f = 0; f < set.functions.size(); ++f) {
    const auto m = four_point_from(window, f, 1, sums.data());
    for (const auto& [k, n, k2, n2] : {std::array{x, 0, x, 0}, {0, -1, 0, -1}, {x, -2, 0, 0}})
      EXPECT_LT(std::abs(m(window(k, n), window(k2, n2)) - exact_function(exact, set.functions[f], k, n, k2, n2)),
                1e-10)
          << name_of(set.functions[f].channel) << set.functions[f].momentum << k << n << k2 << n2;
  }
}

// Elements of each function within their errors, and by chi-squared; with the wrong sign they do not agree.
TEST(FourPoint, AgreesWithExactDiagonalization) {
  const auto p = periodic_plaquette(4, 1, -0.5);
  const auto set = every_channel(*p.lattice, 2);
  runtime rt({.workers = 2, .bind = false});
  const auto r = rt.run([&] {
    return async_monte_carlo(
               p, {.walkers = 4, .bins = 24, .measurements = 40, .sweeps = 2, .four_points = set, .batch = 16})
        .get();
  });
  const auto rows = rows_of(r);
  const exact_plaquette exact(p);
  const pair_index window{4, 2};
  const int x = p.lattice->find_momentum(M_PI, 0), y = p.lattice->find_momentum(0, M_PI);
  const std::array<int, 4> elements[] = {{x, 0, x, 0}, {0, -1, 0, -1}, {x, -2, 0, 0}, {x, 0, y, -1}};
  for (std::size_t f = 0; f < set.functions.size(); ++f) {
    const auto values = jackknife(rows, [&](std::span<const double> means) {
      const auto m = four_point_of(p, 0, set, f, means);
      std::vector<double> v;
      for (const auto& [k, n, k2, n2] : elements) v.push_back(m(window(k, n), window(k2, n2)).real());
      return v;
    });
    double chi_squared = 0, of_wrong_sign = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& [k, n, k2, n2] = elements[i];
      const double truth = exact_function(exact, set.functions[f], k, n, k2, n2).real();
      EXPECT_LT(std::abs(values[i].value - truth), 4.5 * values[i].error)
          << name_of(set.functions[f].channel) << f << i << ": " << values[i].value << " " << truth;
      chi_squared += std::pow((values[i].value - truth) / values[i].error, 2);
      of_wrong_sign += std::pow((values[i].value + truth) / values[i].error, 2);
    }
    const int n = static_cast<int>(values.size());
    EXPECT_GT(test::chi_squared_p_value(chi_squared, n), 0.001) << name_of(set.functions[f].channel) << f;
    EXPECT_LT(test::chi_squared_p_value(of_wrong_sign, n), 1e-9) << name_of(set.functions[f].channel) << f;
  }
}

// Transfers that the point group maps to each other have the mean of what each has by itself.
TEST(FourPoint, EquivalentTransfersShareTheirMeasurements) {
  const auto p = periodic_plaquette(4, 2, -0.3);
  const cluster& c = *p.lattice;
  const int x = c.find_momentum(M_PI, 0), y = c.find_momentum(0, M_PI), n_w = 2;
  const free_propagator g0(c, p.g0, p.moments, p.beta);
  rank_one_walker walker(g0, expansion::of(p.u, p.beta, 4, 1), random_stream(1, 0));
  walker.advance(400);
  snapshot s;
  s.take(walker);
  const auto functions_of = [&](const std::vector<four_point>& functions) {
    const four_point_set set{functions, n_w};
    vertex_transform transform(c, p.beta, set.n_transformed());
    transform.take(s);
    four_point_accumulator a(c, p.g0, p.beta, set);
    a.add(transform);
    const auto sums = a.take();
    EXPECT_EQ(a.take(), std::vector<double>(sums.size(), 0.0));
    std::vector<complex_matrix> all;
    for (std::size_t f = 0; f < functions.size(); ++f) all.push_back(four_point_from({4, n_w}, f, 1, sums.data()));
    return all;
  };
  const pair_index window{4, n_w};
  const auto swapped = [&](int k) { return k == x ? y : k == y ? x : k; };
  for (const auto of : all_channels)
    for (const int m : {0, 1}) {
      const auto of_x = functions_of({{of, x, m}})[0], of_y = functions_of({{of, y, m}})[0];
      // Another channel and another frequency take no part.
      const channel other = of == channel::charge ? channel::magnetic : channel::charge;
      const auto together = functions_of({{of, x, m}, {other, y, m}, {of, y, m}, {of, y, 1 - m}});
      double largest = 0;
      for (int k = 0; k < 4; ++k)
        for (int k2 = 0; k2 < 4; ++k2)
          for (int n = -n_w; n < n_w; ++n)
            for (int n2 = -n_w; n2 < n_w; ++n2) {
              const int a = window(k, n), b = window(k2, n2), a2 = window(swapped(k), n), b2 = window(swapped(k2), n2);
              EXPECT_LT(std::abs(together[0](a, b) - 0.5 * (of_x(a, b) + of_y(a2, b2))), 1e-12);
              EXPECT_LT(std::abs(together[0](a, b) - together[2](a2, b2)), 1e-12);
              largest = std::max(largest, std::abs(of_x(a, b) - of_y(a2, b2)));
            }
      EXPECT_GT(largest, 1e-3);
    }
}

TEST(FourPoint, SavedSumsContinue) {
  const auto p = periodic_plaquette(4, 1, 0);
  const four_point_set set{{{channel::magnetic, 1, 1}}, 2};
  vertex_transform transform(*p.lattice, p.beta, set.n_transformed());
  four_point_accumulator a(*p.lattice, p.g0, p.beta, set), b = a;
  transform.take(snapshot{});
  a.add(transform);
  std::vector<double> numbers;
  number_writer to(numbers);
  a.save(to);
  number_reader from(numbers);
  b.load(from);
  EXPECT_TRUE(from.is_complete());
  EXPECT_EQ(a.take(), b.take());
}

// The exact functions of the plaquette in the Bethe-Salpeter equation of the periodic cluster give its exact
// susceptibilities, up to higher orders of the vertex beyond the window.
TEST(TransferBubble, ExactSusceptibilitiesOfThePlaquette) {
  const auto p = periodic_plaquette(4, 0.5, 0);
  const exact_plaquette exact(p);
  const cluster& c = *p.lattice;
  const int n_w = 1, corner = c.find_momentum(M_PI, M_PI);
  const pair_index window{4, n_w};
  matsubara_function g(4, 32), sigma(4, 32);
  for (int k = 0; k < 4; ++k)
    for (int n = 0; n < 32; ++n) {
      g(k, n) = exact.e.green(exact.of(k, false, spin::up), exact.of(k, true, spin::up), n);
      sigma(k, n) = 1.0 / p.g0(k, n) - 1.0 / g(k, n);
    }
  const auto site = [](int r) {
    std::vector<complex> s(4);
    s[r] = 1;
    return s;
  };
  const auto density = [&](int r, spin create, spin annihilate) {
    return fermion_product{fermion_operator::create(site(r), create),
                           fermion_operator::annihilate(site(r), annihilate)};
  };
  const transfer_bubble bubble(c, {}, false);
  for (const auto of : {channel::transverse, channel::charge, channel::particle_particle}) {
    const four_point f{of, of == channel::particle_particle ? 0 : corner, 0};
    double truth = 0;  // sum_r exp(-i q r) of the integral over tau of <a_r(tau) a+_0(0)>
    for (int r = 0; r < 4; ++r) {
      complex of_site = 0;
      if (of == channel::transverse) {
        of_site = 0.5 * exact.e.susceptibility(density(r, spin::up, spin::down), density(0, spin::down, spin::up));
      } else if (of == channel::charge) {
        for (const auto s : {spin::up, spin::down})
          for (const auto s2 : {spin::up, spin::down})
            of_site += exact.e.susceptibility(density(r, s, s), density(0, s2, s2));
      } else {
        of_site = exact.e.susceptibility(
            {fermion_operator::annihilate(site(r), spin::up), fermion_operator::annihilate(site(r), spin::down)},
            {fermion_operator::create(site(0), spin::down), fermion_operator::create(site(0), spin::up)});
      }
      truth += (c.phase(f.momentum, r) * of_site).real();
    }
    complex_matrix x(window.size(), window.size());
    for (int k = 0; k < 4; ++k)
      for (int n = -n_w; n < n_w; ++n)
        for (int k2 = 0; k2 < 4; ++k2)
          for (int n2 = 0; n2 < n_w; ++n2) {
            const auto value = exact_function(exact, f, k, n, k2, n2);
            x(window(k, n), window(k2, n2)) = value;
            x(window(k, -1 - n), window(k2, -1 - n2)) = std::conj(value);  // all momenta are their own negatives
          }
    const auto s = solve_transfer(c, window, f, x, g, sigma, bubble, p.u, p.mu, p.beta).value();
    EXPECT_NEAR(s.cluster, truth, 0.005 * truth) << name_of(of);
    EXPECT_NEAR(s.lattice, s.cluster, 1e-9);
    EXPECT_GT(std::abs(s.bubble - truth), 0.1 * truth);
  }
}

// Without interaction the lattice's susceptibility is Lindhard's function, and that of pairs (1 - f - f') / (e + e').
TEST(TransferBubble, FreeSusceptibilitiesOfTheLattice) {
  const double beta = 4, mu = -0.5;
  const dispersion e{1, -0.2};
  const auto pairs = channel::particle_particle, magnetic = channel::magnetic;
  const auto check = [&](const cluster& c, const four_point& f) {
    const int n_sites = c.n_sites(), points = 200;
    const matsubara_function sigma(n_sites, 128);
    const auto g = coarse_graining(c, e).green(sigma, mu, beta);
    const double side = f.channel == pairs ? -1 : 1, w = 2 * M_PI * f.frequency / beta;
    const auto q = c.momentum(f.momentum);
    const auto fermi = [&](double x) { return 1 / (1 + std::exp(beta * x)); };
    double truth = 0;
    for (int i = 0; i < points; ++i)
      for (int j = 0; j < points; ++j) {
        const double kx = 2 * M_PI * (i + 0.5) / points, ky = 2 * M_PI * (j + 0.25) / points;
        const double a = e(kx, ky) - mu, b = side * (e(side * kx + q[0], side * ky + q[1]) - mu), d = b - a;
        truth += (f.channel == pairs ? 1 : 0.5) * (fermi(a) - fermi(b)) * d / (d * d + w * w) / (points * points);
      }
    const pair_index window{n_sites, 8};
    complex_matrix x(window.size(), window.size());
    for (int k = 0; k < n_sites; ++k)
      for (int n = -8; n < 8; ++n) {
        const auto [k2, n2] = f.partner(c, k, n);
        const auto at = [&](int p, int l) { return l >= 0 ? g(p, l) : std::conj(g(c.negative(p), -1 - l)); };
        x(window(k, n), window(k, n)) = -side * at(k, n) * at(k2, n2);
      }
    const transfer_bubble bubble(c, e, true);
    const auto s = solve_transfer(c, window, f, x, g, sigma, bubble, 0, mu, beta).value();
    EXPECT_NEAR(s.lattice, truth, 2e-4) << name_of(f.channel) << f.momentum << f.frequency;
    EXPECT_NEAR(s.bubble, s.lattice, 1e-9);
  };
  const auto four = cluster::named("2x2").value(), eight = cluster::named("8A").value();
  const int corner = four.find_momentum(M_PI, M_PI);
  for (const four_point& f : {four_point{magnetic, corner, 0}, {magnetic, corner, 1}, {magnetic, 1, 0}, {pairs, 0, 0}})
    check(four, f);
  // Here momenta differ from their negatives by more than a reciprocal vector.
  for (const four_point& f : {four_point{magnetic, 1, 0}, {pairs, 0, 0}, {pairs, 1, 0}}) check(eight, f);
}

// A vertex g + d inside of the window and g = +-U / (beta N) outside: with the sums A and R of the lattice's bubble
// inside and outside, chi is A' / (1 - g A') with A' = A / (1 - d A) + R, and the eigenvalues are those of
// [[(g + d) A, g A], [g R, g R]], and zero.
TEST(TransferBubble, SusceptibilityAndEigenvalueOfASeparableVertex) {
  const double beta = 3, mu = -0.3, u = 1.5;
  const dispersion e{1, 0};
  const auto c = cluster::named("2x2").value();
  const int n_w = 6, corner = c.find_momentum(M_PI, M_PI);
  const matsubara_function sigma(4, 128);
  const auto g = coarse_graining(c, e).green(sigma, mu, beta);
  const pair_index window{4, n_w}, all{4, 128};
  const transfer_bubble bubble(c, e, true);
  const auto sum_in_window = [&](const auto& of, const pair_index& index) {
    double sum = 0;
    for (int k = 0; k < 4; ++k)
      for (int n = -n_w; n < n_w; ++n) sum += of[index(k, n)].real();
    return sum;
  };
  for (const auto& [of, sign, unit] : {std::tuple(channel::magnetic, 1.0, 0.5), std::tuple(channel::charge, -1.0, 2.0),
                                       std::tuple(channel::particle_particle, -1.0, 1.0)})
    for (const double part : {0.0, 0.5, -0.8}) {
      const four_point f{of, of == channel::particle_particle ? 0 : corner, 0};
      const double side = of == channel::particle_particle ? -1 : 1;
      complex_matrix x(window.size(), window.size());
      std::vector<complex> of_cluster(window.size());
      for (int k = 0; k < 4; ++k)
        for (int n = -n_w; n < n_w; ++n) {
          const auto [k2, n2] = f.partner(c, k, n);
          const auto at = [&](int p, int l) { return l >= 0 ? g(p, l) : std::conj(g(c.negative(p), -1 - l)); };
          of_cluster[window(k, n)] = x(window(k, n), window(k, n)) = -side * at(k, n) * at(k2, n2);
        }
      // Sums over all frequencies are susceptibilities without a vertex.
      const auto free = solve_transfer(c, window, f, x, g, sigma, bubble, 0, mu, beta).value();
      const double sums = beta * 4 / unit, vertex = sign * u / (beta * 4), d = part * vertex;
      const double inside = sum_in_window(of_cluster, window), outside = free.cluster * sums - inside;
      const double folded = d + vertex / (1 - vertex * outside);
      for (int j = 0; j < window.size(); ++j)
        for (int i = 0; i < window.size(); ++i)
          x(i, j) += of_cluster[i] * of_cluster[j] * folded / (1 - folded * inside);
      const auto s = solve_transfer(c, window, f, x, g, sigma, bubble, u, mu, beta).value();
      const double a = sum_in_window(bubble(f, sigma, mu, beta, 128, n_w), all), rest = free.bubble * sums - a;
      const double whole = a / (1 - d * a) + rest;
      EXPECT_NEAR(s.lattice * sums, whole / (1 - vertex * whole), 1e-7 * sums) << name_of(of) << part;
      const double trace = (vertex + d) * a + vertex * rest, determinant = d * vertex * a * rest;
      const double root = 0.5 * (trace + std::sqrt(trace * trace - 4 * determinant));
      EXPECT_NEAR(s.leading, std::max(root, 0.0), 1e-7) << name_of(of) << part;
    }
}

}  // namespace
}  // namespace plx::qmc
