// The matrices M of a configuration over momenta and frequencies, which all measurements of two particles share:
//
//   M(x, x') = sum_pq exp(i w tau_p - i K r_p) M_pq exp(-i w' tau_q + i K' r_q),   x = (K, w)
//
// Thread safety: one thread at a time per object. Cost per snapshot and spin: real products of an [nx][k] by a [k][k]
// and of an [nx][k] by a [k][nx] matrix, nx = 2 n_frequencies n_sites. Example: qmc/pairing/test/pairing_test.cpp
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "num/dense/matrix.hpp"
#include "qmc/cluster/cluster.hpp"
#include "qmc/walker/walker.hpp"

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
  const cluster* cluster_;
  double beta_;
  int n_frequencies_;
  std::vector<std::complex<double>> phases_;  // [site][momentum]: exp(i K r)
  double sign_ = 1;
  real_matrix waves_, half_;
  std::array<real_matrix, 2> transforms_;
};

}  // namespace plx::qmc
