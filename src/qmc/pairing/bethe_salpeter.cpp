#include "qmc/pairing/bethe_salpeter.hpp"

#include <cmath>

#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {

result<pairing_solution> solve_pairing(const cluster& c, const pair_index& index, matrix_view<const double> pairs,
                                       const matsubara_function& g, const matsubara_function& bubble) {
  const int size = index.size(), n_w = index.n_frequencies;
  PLX_ASSERT(pairs.rows == size && pairs.columns == size, pairs.rows, pairs.columns, size);
  PLX_ASSERT(g.n_frequencies() >= n_w && bubble.n_frequencies() >= n_w, g.n_frequencies(), bubble.n_frequencies(), n_w);
  real_matrix kernel(size, size);
  for (int j = 0; j < size; ++j)
    for (int i = 0; i < size; ++i) kernel(i, j) = pairs(i, j);
  if (invert(kernel).sign == 0)
    return error{
        "pair function: expected an invertible matrix, found a singular one; make more measurements or use fewer "
        "frequencies"};
  std::vector<double> root(size);
  for (int k = 0; k < index.n_sites; ++k)
    for (int n = -n_w; n < n_w; ++n) {
      const int x = index(k, n), positive = n >= 0 ? n : -1 - n, q = n >= 0 ? k : c.negative(k);
      root[x] = std::sqrt(bubble(q, positive).real());
      kernel(x, x) -= 1 / std::norm(g(q, positive));
    }
  for (int j = 0; j < size; ++j)
    for (int i = 0; i < size; ++i) kernel(i, j) *= -root[i] * root[j];
  const auto values = diagonalize_symmetric(kernel);

  // The form factor at the two lowest frequencies, normalized.
  std::vector<double> form(size, 0.0);
  double norm = 0;
  for (int k = 0; k < index.n_sites; ++k) {
    const auto q = c.momentum(k);
    for (int n : {-1, 0}) {
      form[index(k, n)] = std::cos(q[0]) - std::cos(q[1]);
      norm += form[index(k, n)] * form[index(k, n)];
    }
  }
  pairing_solution s;
  s.leading = values.back();
  if (norm < 1e-12) return s;  // a cluster without momenta where the form differs from zero
  for (int v = size - 1; v >= 0; --v) {
    double overlap = 0, weight = 0;
    for (int k = 0; k < index.n_sites; ++k)
      for (int n : {-1, 0}) {
        const int x = index(k, n);
        overlap += form[x] * kernel(x, v) / std::sqrt(norm);
        weight += kernel(x, v) * kernel(x, v);
      }
    overlap = weight > 1e-20 ? std::abs(overlap) / std::sqrt(weight) : 0;
    if (overlap <= s.d_wave_overlap) continue;
    s.d_wave = values[v];
    s.d_wave_overlap = overlap;
    if (overlap >= least_overlap) break;
  }
  return s;
}

}  // namespace plx::qmc
