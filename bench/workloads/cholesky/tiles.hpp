// A symmetric positive definite matrix in square tiles, and the tile operations of the factorization A = L L^T.
// The kernels are plain loops: the same for every library, and single-threaded.
#pragma once

#include <cstddef>
#include <vector>

namespace cholesky {

class matrix {
 public:
  /// n_tiles x n_tiles tiles of edge x edge; the lower triangle holds the values of one fixed matrix.
  matrix(int n_tiles, int edge);
  [[nodiscard]] int n_tiles() const { return n_tiles_; }
  [[nodiscard]] int edge() const { return edge_; }
  /// Row-major. Requires: i >= j.
  [[nodiscard]] double* tile(int i, int j) {
    return values_.data() + (static_cast<std::size_t>(i) * n_tiles_ + j) * edge_ * edge_;
  }
  friend bool operator==(const matrix&, const matrix&) = default;

  void potrf(int k) { factor(tile(k, k)); }                                           // L of the diagonal tile
  void trsm(int k, int i) { solve(tile(k, k), tile(i, k)); }                          // panel below it; reads (k,k)
  void update(int k, int i, int j) { multiply(tile(i, k), tile(j, k), tile(i, j)); }  // reads (i,k), (j,k)

 private:
  void factor(double* a) const;
  void solve(const double* l, double* a) const;
  void multiply(const double* a, const double* b, double* c) const;

  int n_tiles_, edge_;
  std::vector<double> values_;
};

/// Replaces the lower triangle with L.
using cholesky_run = void(matrix&);

}  // namespace cholesky
