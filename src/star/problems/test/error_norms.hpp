// The difference between cell averages and a problem's exact ones, over all blocks of a mesh: L1, L2 and the largest.
//
// Sums are exact: the norms do not depend on the order of blocks, their distribution over workers, or the direction of
// a wave. Normalised by the volume, so L1 is the mean of |u - exact|. Thread safety: none; give each worker its own
// object and merge them. Cost: that of the exact averages, 1 to 50 us per cell. Read
// star/problems/test/error_norms_test.cpp as an example.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/assert.hpp"
#include "num/exact_sum.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

class error_norms {
 public:
  explicit error_norms(const problem& p);

  /// u: [variable][k][j][i], conserved values of a block at time t.
  /// Requires: has_exact(t).
  void add_block(const block_cells& cells, double t, const double* u);
  /// Requires: norms of the same problem.
  void merge(const error_norms& other);

  double volume() const { return volume_.value(); }
  double l1(int variable) const;
  double l2(int variable) const;
  double largest(int variable) const { return sums_[variable].largest; }
  /// Root of the sum of squares of l1 over density, momentum and energy: the error of a wave as one number.
  double l1_all() const;

 private:
  struct sums {
    exact_sum absolute, square;
    double largest = 0;
  };

  const problem* problem_;
  exact_sum volume_;
  std::vector<sums> sums_;
};

inline error_norms::error_norms(const problem& p) : problem_(&p), sums_(variable_count(p.species_count())) {}

inline void error_norms::add_block(const block_cells& cells, double t, const double* u) {
  PLX_ASSERT(problem_->has_exact(t), t);
  const std::size_t n_cells = static_cast<std::size_t>(cells.n) * cells.n * cells.n;
  const double volume = cells.width * cells.width * cells.width;
  std::vector<double> exact(n_cells * sums_.size());
  fill_block(*problem_, cells, t, exact.data());
  for (std::size_t c = 0; c < n_cells; ++c) volume_.add(volume);
  for (std::size_t v = 0; v < sums_.size(); ++v) {
    for (std::size_t c = 0; c < n_cells; ++c) {
      const double e = std::abs(u[v * n_cells + c] - exact[v * n_cells + c]);
      sums_[v].absolute.add(e * volume);
      sums_[v].square.add(e * e * volume);
      sums_[v].largest = std::max(sums_[v].largest, e);
    }
  }
}

inline void error_norms::merge(const error_norms& other) {
  PLX_ASSERT_EQ(sums_.size(), other.sums_.size());
  volume_.add(other.volume_);
  for (std::size_t v = 0; v < sums_.size(); ++v) {
    sums_[v].absolute.add(other.sums_[v].absolute);
    sums_[v].square.add(other.sums_[v].square);
    sums_[v].largest = std::max(sums_[v].largest, other.sums_[v].largest);
  }
}

inline double error_norms::l1(int variable) const { return sums_[variable].absolute.value() / volume(); }

inline double error_norms::l2(int variable) const { return std::sqrt(sums_[variable].square.value() / volume()); }

inline double error_norms::l1_all() const {
  double squares = 0;
  for (const int v : {i_density, i_energy}) squares += l1(v) * l1(v);
  double momentum[3];
  for (int axis = 0; axis < 3; ++axis) momentum[axis] = l1(i_momentum + axis) * l1(i_momentum + axis);
  std::sort(momentum, momentum + 3);  // the same bits for permuted axes
  for (const double m : momentum) squares += m;
  return std::sqrt(squares);
}

}  // namespace plx::star
