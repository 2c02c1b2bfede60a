// Correlations of products of two operators in the exact solution.
#include <cmath>

#include "num/dense/linear_algebra.hpp"
#include "qmc/exact/exact_diagonalization.hpp"

namespace plx::qmc {

auto exact_diagonalization::blocks_of(const fermion_product& o) const -> operator_blocks {
  const auto left = blocks_of(o[0]), right = blocks_of(o[1]);
  operator_blocks product(sectors_.size());
  for (std::size_t source = 0; source < sectors_.size(); ++source) {
    const int between = right[source].target;
    if (between < 0 || left[between].target < 0) continue;
    const auto &l = left[between].elements, &r = right[source].elements;
    product[source].target = left[between].target;
    product[source].elements = complex_matrix(l.rows(), r.columns());
    multiply(std::complex<double>(1), l, r, std::complex<double>(0), product[source].elements);
  }
  return product;
}

// The sum over states m and l of <m|a|l><l|b|m> weight(m, l), where the weight is a function of the weights and
// energies of both.
template <class Weight>
std::complex<double> exact_diagonalization::sum_over_states(const fermion_product& a, const fermion_product& b,
                                                            Weight&& weight) const {
  const auto a_blocks = blocks_of(a), b_blocks = blocks_of(b);
  std::complex<double> sum = 0;
  for (std::size_t i = 0; i < sectors_.size(); ++i) {
    const int middle = b_blocks[i].target;
    if (middle < 0 || a_blocks[middle].target != static_cast<int>(i)) continue;
    const sector &of_m = sectors_[i], &of_l = sectors_[middle];
    const int n_m = static_cast<int>(of_m.energies.size()), n_l = static_cast<int>(of_l.energies.size());
    for (int m = 0; m < n_m; ++m)
      for (int l = 0; l < n_l; ++l)
        sum += a_blocks[middle].elements(m, l) * b_blocks[i].elements(l, m) *
               weight(of_m.weights[m], of_l.weights[l], of_l.energies[l] - of_m.energies[m]);
  }
  return sum;
}

std::complex<double> exact_diagonalization::correlation(const fermion_product& a, const fermion_product& b) const {
  return sum_over_states(a, b, [](double w_m, double, double) { return w_m; });
}

std::complex<double> exact_diagonalization::susceptibility(const fermion_product& a, const fermion_product& b) const {
  const double beta = h_.beta;
  // The integral of exp(-tau (E_l - E_m)), times the weight of m.
  return sum_over_states(a, b, [beta](double w_m, double w_l, double difference) {
    const double x = beta * difference;
    return std::abs(x) < 1e-6 ? beta * 0.5 * (w_m + w_l) : (w_m - w_l) / difference;
  });
}

}  // namespace plx::qmc
