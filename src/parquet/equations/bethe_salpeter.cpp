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
        if (const complex d = mean - phi(i, j); may_exceed(change, d)) change = std::max(change, std::abs(d));
        phi(i, j) = phi(j, i) = mean;
        phi(a, b) = phi(b, a) = std::conj(mean);
      } else {
        if (before(j, i) || before(a, b) || before(b, a) || before(a, j) || before(j, a) || before(i, b) ||
            before(b, i))
          continue;
        const complex mean = 0.125 * (phi(i, j) + phi(j, i) + phi(a, b) + phi(b, a) +
                                      odd * (phi(a, j) + phi(j, a) + phi(i, b) + phi(b, i)));
        if (const complex d = mean - phi(i, j); may_exceed(change, d)) change = std::max(change, std::abs(d));
        phi(i, j) = phi(j, i) = phi(a, b) = phi(b, a) = mean;
        phi(a, j) = phi(j, a) = phi(i, b) = phi(b, i) = odd * mean;
      }
    }
  return change;
}

}  // namespace plx::parquet
