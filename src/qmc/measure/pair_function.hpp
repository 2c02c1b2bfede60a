// Measurement of the two-particle function of pairs with zero total momentum and frequency:
//
//   P(K, w; K', w') = <c_Ku(w) c+_K'u(w') c_-Kd(-w) c+_-K'd(-w')>,   c(w) = beta^-1/2 integral dtau exp(i w tau) c(tau)
//
// without interaction P = G(K, w) G(-K, -w) for equal indices. In one configuration P is g_u(x, x') conj g_d(x, x'),
// where x = (K, w), g(x, x') = G0(x) delta - G0(x) M(x, x') G0(x'), and M(-x, -x') = conj M(x, x') since M is real in
// time. The mean with the spins exchanged makes it real; it is also averaged over x <-> x', over both signs of the
// frequencies, and over the point group.
//
// Off the diagonal, P of a configuration is |G0(x)|^2 |G0(x')|^2 M_u conj M_d, so that only the last factor and the
// diagonal of M need a sum over the measurements.
//
// Thread safety: one thread at a time per object. Cost per measurement: some 20 operations per element, beside the
// transform. Example: qmc/pairing/test/pairing_test.cpp
#pragma once

#include <vector>

#include "num/dense/matrix.hpp"
#include "num/saved_numbers.hpp"
#include "qmc/cluster/cluster.hpp"
#include "qmc/green/matsubara.hpp"
#include "qmc/measure/vertex_transform.hpp"

namespace plx::qmc {

class pair_accumulator {
 public:
  /// The cluster must outlive the accumulator. Requires: g0 has at least n_frequencies.
  pair_accumulator(const cluster& c, const matsubara_function& g0, double beta, int n_frequencies);
  pair_index index() const noexcept { return index_; }
  /// Requires: t has at least n_frequencies.
  void add(const vertex_transform& t);
  /// The sum of sign times P since the last call, with all symmetries. Shape: [size][size].
  real_matrix take();
  /// The sums, for checkpoints.
  void save(number_writer& to) const;
  void load(number_reader& from);

 private:
  const cluster* cluster_;
  double scale_;  // of M
  pair_index index_;
  std::vector<std::complex<double>> g0_;        // [row of positive frequency]
  double signs_ = 0;                            // the sum of signs
  real_matrix products_;                        // [positive][2 positive]: sums of Re M_u conj M_d, for w' > 0 and -w'
  std::vector<std::complex<double>> diagonal_;  // [positive]: sums of M_u + M_d for equal indices
};

}  // namespace plx::qmc
