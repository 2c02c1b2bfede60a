// The difference between cell averages and a problem's exact ones, over all blocks of a mesh: L1, L2 and the largest.
//
// Sums are exact: the norms do not depend on the order of blocks, their distribution over workers, or the direction of
// a wave. Normalised by the volume, so L1 is the mean of |u - exact|. Thread safety: none; give each worker its own
// object and merge them. Cost: that of the exact averages, 1 to 50 us per cell. Read
// star/problems/test/error_norms_test.cpp as an example.
#pragma once

#include <vector>

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

}  // namespace plx::star
