// The limits of the reducible vertices that the self-energy needs, of all slabs.
//
// Thread safety: const functions from any thread. Cost: one number per row of each slab.
// Example: parquet/solver/test/solver_test.cpp
#pragma once

#include <complex>
#include <utility>
#include <vector>

#include "parquet/vertex/vertex_reader.hpp"

namespace plx::parquet {

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

}  // namespace plx::parquet
