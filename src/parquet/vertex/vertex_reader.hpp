// Reading a reducible vertex at any frequencies.
//
// Inside of the grid a value is read from its slab. Where nu or nu' lies outside of the slab, the limit of the vertex
// is read, K1 + K2 or K1. Where w lies outside, the vertex is that of second order, Lambda^2 X(q) with the exact
// bubble. The values at -w are the complex conjugates of those with all frequencies reversed: the Hamiltonian is real
// in momentum space. Thread safety: const functions from any thread. Cost: some 10 ns, mostly of the memory read.
// Example: parquet/vertex/test/vertex_test.cpp
#pragma once

#include <complex>
#include <cstdlib>
#include <vector>

#include "parquet/equations/propagator.hpp"
#include "parquet/vertex/vertex_grid.hpp"

namespace plx::parquet {

/// A momentum and the number of a fermionic frequency.
struct fermion {
  int k, n;
};
/// A momentum and the number of a bosonic frequency of either sign.
struct boson {
  int k, m;
};

/// Values of two channels at the same place: density and magnetic, or singlet and triplet.
struct channel_pair {
  std::complex<double> a, b;
};

class vertex_reader {
 public:
  /// phi: the reducible vertices of the slabs from first_slab on, as vertex_grid lays them out; others may not be read.
  /// All arguments must outlive this object.
  vertex_reader(const vertex_grid& grid, const propagator& g, const std::complex<double>* phi, int first_slab = 0)
      : grid_(grid), g_(g), phi_(phi), skipped_(grid.slab_offset(first_slab)), u_squared_(g.model().u * g.model().u) {
    for (int m = 0; m < grid.bosons(); ++m)
      boxes_.push_back({grid.first(true, m), grid.first(false, m), grid.columns(m), grid.rows(m)});
  }

  const vertex_grid& grid() const noexcept { return grid_; }
  const propagator& green() const noexcept { return g_; }

  /// Phi_d and Phi_m at (k, k'; q).
  channel_pair particle_hole(fermion k, fermion kp, boson q) const noexcept { return read<true>(k, kp, q); }
  /// Psi_s and Psi_t at (k, k'; q).
  channel_pair particle_particle(fermion k, fermion kp, boson q) const noexcept { return read<false>(k, kp, q); }

 private:
  struct box {
    int first_ph, first_pp, columns, rows;
  };

  template <bool PH>
  channel_pair read(fermion k, fermion kp, boson q) const noexcept {
    const bool negative = q.m < 0;
    if (negative) {
      q.m = -q.m;
      k.n = -1 - k.n;
      kp.n = -1 - kp.n;
    }
    channel_pair v;
    if (q.m >= grid_.bosons()) {
      v = second_order<PH>(q);
    } else {
      const box& b = boxes_[q.m];
      const std::size_t row = row_of(b, PH ? b.first_ph : b.first_pp, k),
                        column = row_of(b, PH ? b.first_ph : b.first_pp, kp);
      const std::size_t size = static_cast<std::size_t>(b.rows) * b.rows;
      const auto* at =
          phi_ + (grid_.slab_offset(grid_.slab({q.k, q.m})) - skipped_) + (PH ? 0 : 2 * size) + row + column * b.rows;
      v = {at[0], at[size]};
    }
    return negative ? channel_pair{std::conj(v.a), std::conj(v.b)} : v;
  }
  std::size_t row_of(const box& b, int first, fermion k) const noexcept {
    const auto column = static_cast<unsigned>(k.n - first);
    return column < static_cast<unsigned>(b.columns) ? column * static_cast<std::size_t>(grid_.n_momenta()) + k.k
                                                     : static_cast<std::size_t>(b.rows) - 1;
  }
  template <bool PH>
  channel_pair second_order(boson q) const noexcept {
    if constexpr (PH) {
      const auto x = u_squared_ * g_.particle_hole(q.k, q.m);
      return {x, x};
    } else {
      return {-2.0 * u_squared_ * g_.particle_particle(q.k, q.m), 0};
    }
  }

  const vertex_grid& grid_;
  const propagator& g_;
  const std::complex<double>* phi_;
  std::size_t skipped_;
  double u_squared_;
  std::vector<box> boxes_;
};

}  // namespace plx::parquet
