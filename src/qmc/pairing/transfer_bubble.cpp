#include "qmc/pairing/transfer_bubble.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {
namespace {

using complex = std::complex<double>;

// A function of Matsubara frequencies of both signs.
complex at(const cluster& c, const matsubara_function& f, int k, int n) {
  return n >= 0 ? f(k, n) : std::conj(f(c.negative(k), -1 - n));
}

bool is_pair(const four_point& f) { return f.channel == four_point_channel::particle_particle; }

// The sum of 1 / w^2 over the frequencies that are not among the first n of both signs.
double tail_of_squares(int n, double beta) {
  double sum = beta * beta / 4;
  for (int m = 0; m < n; ++m) sum -= 2 / std::pow(matsubara_frequency(m, beta), 2);
  return sum;
}

double unit_of(four_point_channel c) {
  if (c == four_point_channel::charge) return 2;
  return c == four_point_channel::particle_particle ? 1 : 0.5;
}

}  // namespace

transfer_bubble::transfer_bubble(const cluster& c, const dispersion& e, bool lattice) : cluster_(&c), dispersion_(e) {
  fine_ = lattice ? patch_points(c.patch(), 24) : std::vector<patch_point>{{0, 0, 1}};
  coarse_ = lattice ? patch_points(c.patch(), 8) : fine_;
}

transfer_bubble::rule transfer_bubble::rule_of(const four_point& f, int k, bool fine) const {
  const auto k2 = f.partner(*cluster_, k, 0)[0];
  const auto own = cluster_->momentum(k), partner = cluster_->momentum(k2);
  const double side = is_pair(f) ? -1 : 1;
  rule all, merged;
  for (const auto& p : fine ? fine_ : coarse_)
    all.push_back({dispersion_(own[0] + p.x, own[1] + p.y),
                   dispersion_(partner[0] + side * p.x, partner[1] + side * p.y), p.weight});
  // Points of the same energies, which symmetries give, become one.
  std::sort(all.begin(), all.end(), [](const energies& a, const energies& b) {
    return std::tuple(a.own, a.partner, a.weight) < std::tuple(b.own, b.partner, b.weight);
  });
  for (const auto& p : all)
    if (!merged.empty() && p.own - merged.back().own < 1e-12 && std::abs(p.partner - merged.back().partner) < 1e-12)
      merged.back().weight += p.weight;
    else
      merged.push_back(p);
  return merged;
}

std::vector<complex> transfer_bubble::operator()(const four_point& f, const matsubara_function& sigma, double mu,
                                                 double beta, int n_frequencies, int n_fine) const {
  PLX_ASSERT_GE(sigma.n_frequencies(), n_frequencies + f.frequency);
  const pair_index index{cluster_->n_sites(), n_frequencies};
  std::vector<complex> bubble(index.size());
  const auto denominator = [&](int k, int n) {
    const double w = M_PI * (2 * n + 1) / beta;
    return complex(mu, w) - at(*cluster_, sigma, k, n);
  };
  for (int k = 0; k < cluster_->n_sites(); ++k) {
    const rule fine = rule_of(f, k, true), coarse = rule_of(f, k, false);
    for (int n = -n_frequencies; n < n_frequencies; ++n) {
      const auto [k2, n2] = f.partner(*cluster_, k, n);
      const complex z = denominator(k, n), z2 = denominator(k2, n2);
      complex sum = 0;
      for (const auto& p : n >= -n_fine && n < n_fine ? fine : coarse)
        sum += p.weight / ((z - p.own) * (z2 - p.partner));
      bubble[index(k, n)] = is_pair(f) ? sum : -sum;
    }
  }
  return bubble;
}

result<transfer_susceptibility> solve_transfer(const cluster& c, const pair_index& window, const four_point& f,
                                               complex_matrix x, const matsubara_function& g,
                                               const matsubara_function& sigma, const transfer_bubble& bubble, double u,
                                               double mu, double beta) {
  const int n_sites = c.n_sites(), n_w = window.n_frequencies, size = window.size();
  PLX_ASSERT(x.rows() == size && x.columns() == size, x.rows(), x.columns(), size);
  const int n_all = sigma.n_frequencies() - f.frequency;
  const pair_index all{n_sites, n_all};
  const auto of_lattice = bubble(f, sigma, mu, beta, n_all, n_w);
  std::vector<complex> of_cluster(all.size());
  for (int k = 0; k < n_sites; ++k)
    for (int n = -n_all; n < n_all; ++n) {
      const auto [k2, n2] = f.partner(c, k, n);
      of_cluster[all(k, n)] = (is_pair(f) ? 1.0 : -1.0) * at(c, g, k, n) * at(c, g, k2, n2);
    }
  if (f.channel == four_point_channel::charge && f.momentum == 0 && f.frequency == 0)
    for (int k2 = 0; k2 < n_sites; ++k2)
      for (int n2 = -n_w; n2 < n_w; ++n2)
        for (int k = 0; k < n_sites; ++k)
          for (int n = -n_w; n < n_w; ++n) x(window(k, n), window(k2, n2)) -= 2.0 * at(c, g, k, n) * at(c, g, k2, n2);

  // Sums over the frequencies beyond the window, and over all.
  const double tail = n_sites * tail_of_squares(n_all, beta);
  complex cluster_rest = tail, lattice_rest = tail, bubble_sum = tail;
  for (int k = 0; k < n_sites; ++k)
    for (int n = -n_all; n < n_all; ++n) {
      const int i = all(k, n);
      bubble_sum += of_lattice[i];
      if (n >= -n_w && n < n_w) continue;
      cluster_rest += of_cluster[i];
      lattice_rest += of_lattice[i];
    }
  const auto sum_of = [&](const complex_matrix& m) {
    complex sum = 0;
    for (int j = 0; j < size; ++j)
      for (int i = 0; i < size; ++i) sum += m(i, j);
    return sum;
  };
  const bool repels = f.channel == four_point_channel::charge || is_pair(f);
  const double g0 = (repels ? -u : u) / (beta * n_sites);
  // The cluster's x is the window of (X0^-1 - D - g 1 1^T)^-1 over all frequencies: there X0^-1 - D = x^-1 + g' 1 1^T.
  const complex g_window = g0 / (1.0 - g0 * cluster_rest), in_window = sum_of(x);
  const complex cluster_sum = in_window / (1.0 + g_window * in_window) + cluster_rest;
  bool regular = invert(x);
  complex_matrix kernel(size + 1, size + 1);  // X0 Gamma
  if (regular) {
    for (int j = 0; j < size; ++j)
      for (int i = 0; i < size; ++i) x(i, j) += g_window;
    std::vector<complex> bubbles(size + 1, lattice_rest);
    for (int k = 0; k < n_sites; ++k)
      for (int n = -n_w; n < n_w; ++n) {
        const int i = all(k, n), at = window(k, n);
        bubbles[at] = of_lattice[i];
        x(at, at) -= 1.0 / of_cluster[i];  // -D
      }
    for (int j = 0; j <= size; ++j)
      for (int i = 0; i <= size; ++i) kernel(i, j) = bubbles[i] * (i < size && j < size ? g0 - x(i, j) : complex(g0));
    for (int i = 0; i < size; ++i) x(i, i) += 1.0 / bubbles[i];
    regular = invert(x);
  }
  if (!regular)
    return error{fmt::format(
        "two-particle function {}: expected an invertible matrix, found a singular one; make more measurements or use "
        "fewer frequencies",
        name_of(f.channel))};
  const complex lattice_sum = sum_of(x) + lattice_rest;
  const double unit = unit_of(f.channel) / (beta * n_sites);
  const auto closed = [&](complex a) { return unit * (a / (1.0 - g0 * a)).real(); };
  return transfer_susceptibility{closed(cluster_sum), closed(lattice_sum), unit * bubble_sum.real(),
                                 leading_eigenvalue(kernel).real()};
}

}  // namespace plx::qmc
