#include "parquet/equations/bethe_salpeter.hpp"

#include <algorithm>
#include <cmath>

#include "num/dense/linear_algebra.hpp"

namespace plx::parquet {

using complex = std::complex<double>;

std::vector<complex> pair_weights(const vertex_grid& grid, const propagator& g, channel c, transfer q) {
  const auto& lattice = grid.lattice();
  const bool ph = is_particle_hole(c);
  const int n_momenta = grid.n_momenta(), m = q.frequency, first = grid.first(ph, m);
  const double factor = ph ? 1 : c == channel::singlet ? -0.5 : 0.5;
  const double t_over_n = 1 / (g.model().beta * n_momenta);
  std::vector<complex> w(grid.rows(m));
  complex rest = factor * (ph ? g.particle_hole(q.momentum, m) : g.particle_particle(q.momentum, m));
  for (std::size_t i = 0; i + 1 < w.size(); ++i) {
    const int k = static_cast<int>(i) % n_momenta, n = first + static_cast<int>(i) / n_momenta;
    const complex other = ph ? g.green(lattice.momentum_sum(k, q.momentum), n + m)
                             : g.green(lattice.momentum_difference(q.momentum, k), m - 1 - n);
    w[i] = factor * t_over_n * g.green(k, n) * other;
    rest -= w[i];
  }
  w.back() = rest;
  return w;
}

void solve_bethe_salpeter(matrix_view<const complex> gamma, const std::vector<complex>& weights, matrix_view<complex> f,
                          matrix_view<complex> phi) {
  for (int j = 0; j < f.columns; ++j)
    for (int i = 0; i < f.rows; ++i) f(i, j) *= weights[i];
  multiply(complex(1), gamma, f, complex(0), phi);
}

std::vector<std::int32_t> slab_partners(const vertex_grid& grid, bool particle_hole, transfer q) {
  const auto& lattice = grid.lattice();
  const int n_momenta = grid.n_momenta(), outside = grid.rows(q.frequency) - 1, columns = grid.columns(q.frequency);
  std::vector<std::int32_t> partners(outside + 1, outside);
  for (int i = 0; i < outside; ++i) {
    const int k = i % n_momenta;
    const int other = particle_hole ? lattice.negative(lattice.momentum_sum(k, q.momentum))
                                    : lattice.momentum_difference(q.momentum, k);
    partners[i] = (columns - 1 - i / n_momenta) * n_momenta + other;
  }
  return partners;
}

double symmetrize(const vertex_grid& grid, channel c, transfer q, matrix_view<complex> phi) {
  return symmetrize(c, slab_partners(grid, is_particle_hole(c), q).data(), phi);
}

double symmetrize(channel c, const std::int32_t* partners, matrix_view<complex> phi) {
  const bool ph = is_particle_hole(c);
  const double odd = c == channel::triplet ? -1 : 1;
  double change = 0;
  for (int j = 0; j < phi.columns; ++j)
    for (int i = 0; i < phi.rows; ++i) {
      const int a = partners[i], b = partners[j];
      // Each orbit is visited once, from its first element in the order of memory.
      const auto before = [&](int r, int s) { return s < j || (s == j && r < i); };
      if (ph) {
        if (before(j, i) || before(a, b) || before(b, a)) continue;
        const complex mean = 0.25 * (phi(i, j) + phi(j, i) + std::conj(phi(a, b)) + std::conj(phi(b, a)));
        change = std::max(change, std::abs(mean - phi(i, j)));
        phi(i, j) = phi(j, i) = mean;
        phi(a, b) = phi(b, a) = std::conj(mean);
      } else {
        if (before(j, i) || before(a, b) || before(b, a) || before(a, j) || before(j, a) || before(i, b) ||
            before(b, i))
          continue;
        const complex mean = 0.125 * (phi(i, j) + phi(j, i) + phi(a, b) + phi(b, a) +
                                      odd * (phi(a, j) + phi(j, a) + phi(i, b) + phi(b, i)));
        change = std::max(change, std::abs(mean - phi(i, j)));
        phi(i, j) = phi(j, i) = phi(a, b) = phi(b, a) = mean;
        phi(a, j) = phi(j, a) = phi(i, b) = phi(b, i) = odd * mean;
      }
    }
  return change;
}

double leading_eigenvalue(matrix_view<const complex> gamma, const std::vector<complex>& weights, int steps) {
  const int n = gamma.rows;
  steps = std::min(steps, n);
  complex_matrix basis(n, steps + 1), h(steps, steps);
  // A start vector without symmetry, the same in each run.
  double x = 0.5, norm = 0;
  for (int i = 0; i < n; ++i) {
    x = std::fmod(x * 997 + 0.1234567, 1.0);
    basis(i, 0) = x - 0.25;
    norm += std::norm(basis(i, 0));
  }
  for (int i = 0; i < n; ++i) basis(i, 0) /= std::sqrt(norm);
  std::vector<complex> scaled(n);
  int done = 0;
  while (done < steps) {
    complex* next = basis.column(done + 1);
    for (int i = 0; i < n; ++i) scaled[i] = weights[i] * basis(i, done);
    multiply(complex(1), gamma, {scaled.data(), n, 1, n}, complex(0), {next, n, 1, n});
    for (int pass = 0; pass < 2; ++pass)  // twice is enough for orthogonality
      for (int j = 0; j <= done; ++j) {
        complex overlap = 0;
        for (int i = 0; i < n; ++i) overlap += std::conj(basis(i, j)) * next[i];
        for (int i = 0; i < n; ++i) next[i] -= overlap * basis(i, j);
        h(j, done) += overlap;
      }
    double length = 0;
    for (int i = 0; i < n; ++i) length += std::norm(next[i]);
    length = std::sqrt(length);
    ++done;
    if (!(length > 1e-12) || done == steps) break;
    h(done, done - 1) = length;
    for (int i = 0; i < n; ++i) next[i] /= length;
  }
  for (int j = 0; j < done; ++j)
    for (int i = 0; i < done; ++i)
      if (!std::isfinite(h(i, j).real()) || !std::isfinite(h(i, j).imag())) return h(i, j).real() * 0 + NAN;
  const auto values = diagonalize(h.view().block(0, 0, done, done)).values;
  double largest = -HUGE_VAL;
  for (const auto& v : values) largest = std::max(largest, v.real());
  return largest;
}

}  // namespace plx::parquet
