// Anderson mixing of the vertices: the next input of an iteration x -> g(x) from several earlier ones.
//
//   next = sum_j c_j (x_j + damping r_j),  r_j = g(x_j) - x_j,  where |sum_j c_j r_j| is smallest and sum_j c_j = 1
//
// With one stored pair it is damping. Vectors are cut into parts, one task each; sums over parts are made in their
// order, so the bits do not depend on the number of workers.
// Thread safety: none; members run parallel loops and belong in a task. Cost: 2 (history + 1) vectors.
// Example: parquet/solver/test/mixing_test.cpp
// Source: Walker, Ni (2011), SIAM J. Numer. Anal. 49, 1715.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

#include "net/team.hpp"
#include "num/dense/matrix.hpp"
#include "num/large_vector.hpp"
#include "num/saved_numbers.hpp"

namespace plx::parquet {

/// Memory outside the host that holds all parts but the last, for all slots.
class mixing_memory {
 public:
  virtual ~mixing_memory() = default;
  /// The sums of re(conj(a) b) over each part, of the residuals in two slots.
  virtual std::vector<double> dots(int a, int b) = 0;
  /// x[next] = sum_s c_s (x_s + damping r_s), without the terms in which c_s = 0. Shape: c [slot].
  virtual void combine(std::span<const double> c, double damping, int next) = 0;
  /// Copies of a slot for the host, and from it. r may be null: not copied.
  virtual void fetch(int slot, std::complex<double>* x, std::complex<double>* r) = 0;
  virtual void put(int slot, const std::complex<double>* x, const std::complex<double>* r) = 0;
};

class anderson_mixing {
 public:
  using vector = large_vector<std::complex<double>>;

  /// parts: where each part of the vectors begins, and the end. With several localities, each holds its own parts in
  /// rank order; the last part is the same on all, and the member functions are collective.
  /// Requires: damping in (0, 1], history >= 0.
  anderson_mixing(std::vector<std::size_t> parts, int history, double damping, team members = {});

  /// From now on all parts but the last are in `m`, which gets the stored ones. The host's are valid after fetch(),
  /// until advance(). Requires: one locality; m outlives this object.
  void keep_in(mixing_memory& m);
  void fetch();
  /// The slot of the present pair.
  int slot() const noexcept { return now_; }

  /// The present input x, and where to store r = g(x) - x before advance().
  vector& input() noexcept { return x_[now_]; }
  const vector& input() const noexcept { return x_[now_]; }
  vector& residual() noexcept { return r_[now_]; }
  /// Replaces the input by the next one; the pair becomes the newest of the history.
  void advance();
  /// Forgets all pairs but the present one.
  void restart() noexcept { stored_ = 0; }
  const std::vector<std::size_t>& parts() const noexcept { return parts_; }

  /// The state between advance() and the next residual: which vectors are stored, their products, and the last part of
  /// each; and the parts before it, as spans of stored_parts().
  void save(number_writer& to) const;
  /// Restores it, except for the spans. False if it is not that of a mixing of the same size and history.
  bool load(number_reader& from);
  /// All parts but the last, of the vectors that are stored: inputs from the oldest on, then residuals. Valid until
  /// advance().
  std::vector<std::span<std::complex<double>>> stored_parts();

  /// Bytes of all vectors for vectors of `size` elements.
  static double memory_bytes(std::size_t size, int history) noexcept {
    return 2.0 * (history + 1) * static_cast<double>(size) * sizeof(std::complex<double>);
  }

 private:
  std::vector<double> coefficients();  // [slot]
  double dot(int a, int b) const;      // of residuals
  // The first part that is in host memory.
  int first_of_host() const noexcept { return memory_ == nullptr ? 0 : static_cast<int>(parts_.size()) - 2; }
  std::vector<int> used() const;  // slots, oldest first; the present one is the last

  std::vector<std::size_t> parts_;
  int history_;
  double damping_;
  team team_;
  mixing_memory* memory_ = nullptr;  // null: the host's
  std::vector<vector> x_, r_;        // [slot]
  real_matrix products_;             // r_i . r_j
  int now_ = 0, stored_ = 0;         // stored_: pairs before the present one
};

/// The c with sum c = 1 for which c^T products c is smallest, where directions with eigenvalues below 1e-10 of the
/// largest are omitted; relative to element `base`. Requires: products symmetric, positive.
std::vector<double> least_residual(const real_matrix& products, int base);

}  // namespace plx::parquet
