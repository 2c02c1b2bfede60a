// Reading a reducible vertex at any frequencies.
//
// Inside of the grid a value is read from its slab. Where nu or nu' lies outside of the slab, the limit of the vertex
// is read, K1 + K2 or K1. Where w lies outside, the vertex is that of second order, Lambda^2 X(q) with the exact
// bubble. The values at -w are the complex conjugates of those with all frequencies reversed: the Hamiltonian is real
// in momentum space. Thread safety: const functions from any thread. Cost: some 10 ns, mostly of the memory read.
// Example: parquet/vertex/test/vertex_test.cpp
#pragma once

#include <complex>
#include <cstddef>

#include "parquet/green/propagator.hpp"
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

class vertex_reader;

/// The vertices of two channels at fixed frequencies, for all momenta: what depends on frequencies is computed once.
class vertex_window {
 public:
  /// At (K, K'; Q).
  channel_pair operator()(int k, int kp, int q) const noexcept {
    if (source_ == nullptr) return beyond(q);
    return value(begin(q) + k * row_step_ + kp * column_step());
  }

  // The same in two steps, within the grid: the value at begin(Q) + K + K' column_step(), if neither is outside.
  /// At (0, 0; Q).
  const std::complex<double>* begin(int q) const noexcept {
    return source_ + (begin_ + q * slab_ + row_ + column_ * rows_);
  }
  std::ptrdiff_t row_step() const noexcept { return row_step_; }
  std::ptrdiff_t column_step() const noexcept { return column_step_ * rows_; }
  channel_pair value(const std::complex<double>* at) const noexcept {
    return conjugate_ ? channel_pair{std::conj(at[0]), std::conj(at[size_])} : channel_pair{at[0], at[size_]};
  }
  /// Where the values of the next frequency of k are, from those of this one, if that of k' changes by +1 or -1 with
  /// it. `n_momenta`: of the grid.
  std::ptrdiff_t distance_to_next(int n_momenta, int change) const noexcept {
    return (conjugate_ ? -1 : 1) * n_momenta * (row_step() + change * column_step());
  }
  std::ptrdiff_t channel_step() const noexcept { return size_; }

 private:
  friend class vertex_reader;
  channel_pair beyond(int q) const noexcept;

  const std::complex<double>* source_ = nullptr;  // null: beyond the largest transfer
  std::ptrdiff_t begin_ = 0, slab_ = 0, size_ = 0, rows_ = 0;
  std::ptrdiff_t row_ = 0, row_step_ = 0, column_ = 0, column_step_ = 0;  // steps are 0 outside
  bool conjugate_ = false;
  const propagator* green_ = nullptr;
  bool particle_hole_ = true;
  int m_ = 0;
};

class vertex_reader {
 public:
  /// phi: the reducible vertices of the slabs from first_slab on, as vertex_grid lays them out; others may not be read.
  /// All arguments must outlive this object.
  vertex_reader(const vertex_grid& grid, const propagator& g, const std::complex<double>* phi, int first_slab = 0)
      : grid_(grid), g_(g), phi_(phi), skipped_(static_cast<std::ptrdiff_t>(grid.slab_offset(first_slab))) {}

  const vertex_grid& grid() const noexcept { return grid_; }
  const propagator& green() const noexcept { return g_; }

  /// Phi_d and Phi_m, or Psi_s and Psi_t, at the frequencies with the numbers n, n' and m.
  vertex_window at(bool particle_hole, int n, int np, int m) const noexcept {
    vertex_window w;
    w.conjugate_ = m < 0;
    if (w.conjugate_) {
      m = -m;
      n = -1 - n;
      np = -1 - np;
    }
    w.particle_hole_ = particle_hole;
    w.m_ = m;
    w.green_ = &g_;
    if (m >= grid_.bosons()) return w;
    const int first = grid_.first(particle_hole, m), columns = grid_.columns(m), n_momenta = grid_.n_momenta();
    w.source_ = phi_;
    w.rows_ = grid_.rows(m);
    w.size_ = w.rows_ * w.rows_;
    w.slab_ = static_cast<std::ptrdiff_t>(all_channels.size()) * w.size_;
    w.begin_ = static_cast<std::ptrdiff_t>(grid_.slab_offset(grid_.slab({0, m}))) - skipped_ +
               (particle_hole ? 0 : 2 * w.size_);
    const auto place = [&](int number, std::ptrdiff_t& begin, std::ptrdiff_t& step) {
      const bool inside = number >= first && number < first + columns;
      begin = inside ? static_cast<std::ptrdiff_t>(number - first) * n_momenta : w.rows_ - 1;
      step = inside ? 1 : 0;
    };
    place(n, w.row_, w.row_step_);
    place(np, w.column_, w.column_step_);
    return w;
  }
  /// Phi_d and Phi_m at (k, k'; q).
  channel_pair particle_hole(fermion k, fermion kp, boson q) const noexcept {
    return at(true, k.n, kp.n, q.m)(k.k, kp.k, q.k);
  }
  /// Psi_s and Psi_t at (k, k'; q).
  channel_pair particle_particle(fermion k, fermion kp, boson q) const noexcept {
    return at(false, k.n, kp.n, q.m)(k.k, kp.k, q.k);
  }

 private:
  const vertex_grid& grid_;
  const propagator& g_;
  const std::complex<double>* phi_;
  std::ptrdiff_t skipped_;
};

inline channel_pair vertex_window::beyond(int q) const noexcept {
  const double u_squared = green_->model().u * green_->model().u;
  channel_pair v;
  if (particle_hole_)
    v.a = v.b = u_squared * green_->particle_hole(q, m_);
  else
    v = {-2.0 * u_squared * green_->particle_particle(q, m_), 0};
  return conjugate_ ? channel_pair{std::conj(v.a), std::conj(v.b)} : v;
}

}  // namespace plx::parquet
