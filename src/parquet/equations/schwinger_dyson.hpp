// The Schwinger-Dyson equation: the self-energy from the limits of the reducible vertices.
//
//   Sigma(k) = Sigma_2(k) - T/2N sum_q [Phi_d(k, out; q) + Phi_m(k, out; q) - 2 U^2 X_ph(q)] G(k + q)
//
// It is the usual form, -U T^2/2N^2 sum [F_d - F_m](k, k'; q) G(k') G(k + q) G(k' + q), after the sum over k': that sum
// is the limit of the reducible vertex at large nu':
//
//   Phi_r(k, out; q) = Lambda_r T/N sum_k' F_r(k, k'; q) G(k') G(k' + q)
//
// The part of second order is summed without a cutoff in w. The Hartree term is not included.
// Thread safety: runs a parallel loop and belongs in a task. Cost: O(N^2 F bosons).
// Example: parquet/solver/test/solver_test.cpp
#pragma once

#include <complex>
#include <utility>
#include <vector>

#include "parquet/vertex/vertex_reader.hpp"
#include "qmc/green/matsubara.hpp"

namespace plx::parquet {

/// The limits Phi_d(k, out; q) + Phi_m(k, out; q), of all slabs: one number per row of each. Const functions from any
/// thread.
class vertex_limits {
 public:
  /// Phi_d(k, out; q) + Phi_m(k, out; q) of the slabs [first, last), for which phi has values: row by row.
  static std::vector<std::complex<double>> of_slabs(const vertex_grid& grid, const std::complex<double>* phi, int first,
                                                    int last);
  /// values: those of all slabs, one after the other.
  vertex_limits(const vertex_grid& grid, std::vector<std::complex<double>> values)
      : grid_(grid), values_(std::move(values)) {
    PLX_ASSERT_EQ(values_.size(), grid.row_offset(grid.n_slabs()));
  }

  const vertex_grid& grid() const noexcept { return grid_; }
  /// Requires: |q.m| < bosons.
  std::complex<double> operator()(fermion k, boson q) const noexcept {
    const bool negative = q.m < 0;
    const int m = negative ? -q.m : q.m, n = negative ? -1 - k.n : k.n;
    const auto column = static_cast<unsigned>(n - grid_.first(true, m));
    const std::size_t row = column < static_cast<unsigned>(grid_.columns(m))
                                ? column * static_cast<std::size_t>(grid_.n_momenta()) + k.k
                                : static_cast<std::size_t>(grid_.rows(m)) - 1;
    const auto& value = values_[grid_.row_offset(grid_.slab({q.k, m})) + row];
    return negative ? std::conj(value) : value;
  }

 private:
  const vertex_grid& grid_;
  std::vector<std::complex<double>> values_;
};

/// Shape: [momentum][F], for the F frequencies of the propagator's self-energy.
qmc::matsubara_function schwinger_dyson(const vertex_limits& phi, const propagator& g);

}  // namespace plx::parquet
