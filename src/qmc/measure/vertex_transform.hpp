// The matrices M of a configuration over momenta and frequencies, which all measurements of two particles share:
//
//   M(x, x') = sum_pq exp(i w tau_p - i K r_p) M_pq exp(-i w' tau_q + i K' r_q),   x = (K, w)
//
// The sums over the vertices of a pair of sites depend on the frequencies only; a sum over the sites follows. On a
// cluster of N sites this takes N times fewer operations than products with waves of all momenta.
//
// Thread safety: one thread at a time per object. Cost per snapshot and spin, with nx = 2 n_frequencies n_sites numbers
// and k vertices: products of 2 k (k + nx) 2 n_frequencies operations, and at most 8 nx^2 n_sites for the sites (half
// of it if all momenta are real, as on the 2x2 cluster). Example: qmc/measure/test/vertex_transform_test.cpp
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "num/dense/matrix.hpp"
#include "qmc/cluster/cluster.hpp"
#include "qmc/walker/walker.hpp"

namespace plx::detail {
/// A term of a sum over sites: the element `from`, of [site][part], times a factor.
struct site_term {
  int from;
  double factor;
};
}  // namespace plx::detail

namespace plx::qmc {

/// The order of rows and columns of functions of two particles.
struct pair_index {
  int n_sites = 0, n_frequencies = 0;  // positive ones
  int size() const noexcept { return 2 * n_sites * n_frequencies; }
  /// Requires: -n_frequencies <= n < n_frequencies, of the frequency (2n + 1) pi / beta.
  int operator()(int k, int n) const noexcept { return k * 2 * n_frequencies + n + n_frequencies; }
};

class vertex_transform {
 public:
  /// The cluster must outlive the transform.
  vertex_transform(const cluster& c, double beta, int n_frequencies);
  int n_frequencies() const noexcept { return n_frequencies_; }
  /// Transforms both spins.
  void take(const snapshot& s);
  double sign() const noexcept { return sign_; }

  /// waves^T M waves of a spin, where waves(p, x) = exp(-i w tau_p + i K r_p) for positive w, rows K n_frequencies + n:
  /// first the real parts, then the imaginary parts. In blocks rr, ri, ir, ii, M(x, x') has the real and imaginary
  /// parts rr + ii and ri - ir; M(x, -x') has rr - ii and -ri - ir; M(-x, -x') is conj M(x, x').
  const real_matrix& of(int sigma) const noexcept { return transforms_[sigma]; }
  /// M(x, x'). Requires: -n_frequencies <= n, n2 < n_frequencies.
  std::complex<double> operator()(int sigma, int k, int n, int k2, int n2) const noexcept;

 private:
  void sort_by_site(const std::vector<vertex>& vertices);
  void make_waves(const std::vector<vertex>& vertices);
  void sum_over_sites(double* numbers, std::ptrdiff_t stride, int length);

  const cluster* cluster_;
  double beta_;
  int n_frequencies_;
  double sign_ = 1;
  std::vector<detail::site_term> terms_;   // of all sums over sites
  std::vector<int> ends_;                  // [part, momentum]: of its terms
  std::vector<double> block_;              // of sum_over_sites()
  std::vector<int> order_, first_, next_;  // vertices in the order of their sites; [site]: its first one therein
  real_matrix waves_;                      // exp(-i w tau): [vertex][part, n]
  real_matrix waves_of_vertex_;            // [part, n][vertex]: OpenBLAS is faster if no operand is transposed
  real_matrix sorted_, half_;              // M in this order; its product with the waves, [vertex][site, part, n]
  std::array<real_matrix, 2> transforms_;
};

}  // namespace plx::qmc
