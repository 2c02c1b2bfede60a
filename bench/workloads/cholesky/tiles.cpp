#include "cholesky/tiles.hpp"

#include <cmath>

namespace cholesky {

matrix::matrix(int n_tiles, int edge)
    : n_tiles_(n_tiles), edge_(edge), values_(static_cast<std::size_t>(n_tiles) * n_tiles * edge * edge) {
  const int n = n_tiles * edge;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j)  // dominated by its diagonal, hence positive definite
      tile(i / edge, j / edge)[(i % edge) * edge + j % edge] = i == j ? n : 1.0 / (1 + (i * 7 + j * 13) % 10);
}

void matrix::factor(double* a) const {
  const int n = edge_;
  for (int j = 0; j < n; ++j) {
    double sum = a[j * n + j];
    for (int k = 0; k < j; ++k) sum -= a[j * n + k] * a[j * n + k];
    const double diagonal = a[j * n + j] = std::sqrt(sum);
    for (int i = j + 1; i < n; ++i) {
      double s = a[i * n + j];
      for (int k = 0; k < j; ++k) s -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = s / diagonal;
    }
  }
}

void matrix::solve(const double* l, double* a) const {
  const int n = edge_;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double s = a[i * n + j];
      for (int k = 0; k < j; ++k) s -= a[i * n + k] * l[j * n + k];
      a[i * n + j] = s / l[j * n + j];
    }
}

void matrix::multiply(const double* a, const double* b, double* __restrict c) const {
  const int n = edge_;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; j += 4) {
      double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      for (int k = 0; k < n; ++k) {
        const double x = a[i * n + k];
        s0 += x * b[j * n + k];
        s1 += x * b[(j + 1) * n + k];
        s2 += x * b[(j + 2) * n + k];
        s3 += x * b[(j + 3) * n + k];
      }
      c[i * n + j] -= s0;
      c[i * n + j + 1] -= s1;
      c[i * n + j + 2] -= s2;
      c[i * n + j + 3] -= s3;
    }
}

}  // namespace cholesky
