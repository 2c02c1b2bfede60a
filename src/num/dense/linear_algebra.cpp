#include "num/dense/linear_algebra.hpp"

// LAPACKE takes std::complex for the complex type of C.
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <cblas.h>
#include <lapacke.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace plx {
namespace {

// Set before main(): this object file is linked wherever one of its functions is called. The build with threads would
// start them inside a task; the others share buffers between callers without locks (OpenBLAS 0.3.21), and which build
// is loaded can be changed after linking (update-alternatives).
[[maybe_unused]] const bool one_thread = [] {
  if (openblas_get_parallel() != OPENBLAS_THREAD) {
    std::fputs(
        "OpenBLAS: expected the build with threads (libopenblas0-pthread), found another; its results are wrong when "
        "several threads call it at once\n",
        stderr);
    std::abort();
  }
  openblas_set_num_threads(1);
  return true;
}();

CBLAS_TRANSPOSE blas(transposed op) {
  return op == transposed::no ? CblasNoTrans : op == transposed::yes ? CblasTrans : CblasConjTrans;
}

// Sizes of a product; the returned value is the inner one.
template <class T>
int inner_size(matrix_view<const T> a, matrix_view<const T> b, matrix_view<T> c, transposed op_a, transposed op_b) {
  const int m = op_a == transposed::no ? a.rows : a.columns, k = op_a == transposed::no ? a.columns : a.rows;
  const int l = op_b == transposed::no ? b.rows : b.columns, n = op_b == transposed::no ? b.columns : b.rows;
  PLX_ASSERT(m == c.rows && n == c.columns && k == l, m, n, k, l, c.rows, c.columns);
  return k;
}

template <class T>
int square_size(matrix_view<T> a) {
  PLX_ASSERT_EQ(a.rows, a.columns);
  return a.rows;
}

}  // namespace

void multiply(double alpha, matrix_view<const double> a, matrix_view<const double> b, double beta,
              matrix_view<double> c, transposed op_a, transposed op_b) {
  const int k = inner_size(a, b, c, op_a, op_b);
  if (c.rows == 0 || c.columns == 0) return;
  cblas_dgemm(CblasColMajor, blas(op_a), blas(op_b), c.rows, c.columns, k, alpha, a.data, std::max(a.stride, 1), b.data,
              std::max(b.stride, 1), beta, c.data, c.stride);
}

void multiply(std::complex<double> alpha, matrix_view<const std::complex<double>> a,
              matrix_view<const std::complex<double>> b, std::complex<double> beta, matrix_view<std::complex<double>> c,
              transposed op_a, transposed op_b) {
  const int k = inner_size(a, b, c, op_a, op_b);
  if (c.rows == 0 || c.columns == 0) return;
  cblas_zgemm(CblasColMajor, blas(op_a), blas(op_b), c.rows, c.columns, k, &alpha, a.data, std::max(a.stride, 1),
              b.data, std::max(b.stride, 1), &beta, c.data, c.stride);
}

void multiply_vector(double alpha, matrix_view<const double> a, const double* x, double beta, double* y,
                     transposed op) {
  if (a.rows == 0 || a.columns == 0) {
    for (int i = 0; i < (op == transposed::no ? a.rows : a.columns); ++i) y[i] = beta == 0 ? 0 : beta * y[i];
    return;
  }
  cblas_dgemv(CblasColMajor, blas(op), a.rows, a.columns, alpha, a.data, a.stride, x, 1, beta, y, 1);
}

void add_outer(double alpha, const double* x, const double* y, matrix_view<double> a, int y_increment) {
  if (a.rows == 0 || a.columns == 0) return;
  cblas_dger(CblasColMajor, a.rows, a.columns, alpha, x, 1, y, y_increment, a.data, a.stride);
}

double dot(int n, const double* x, const double* y, int x_increment, int y_increment) {
  return cblas_ddot(n, x, x_increment, y, y_increment);
}

log_determinant invert(matrix_view<double> a) {
  const int n = square_size(a);
  log_determinant det;
  if (n == 0) return det;
  std::vector<lapack_int> pivots(n);
  const auto info = LAPACKE_dgetrf(LAPACK_COL_MAJOR, n, n, a.data, a.stride, pivots.data());
  PLX_ASSERT(info >= 0, info);
  if (info > 0) return {0, -INFINITY};
  for (int i = 0; i < n; ++i) {
    if ((a(i, i) < 0) != (pivots[i] != i + 1)) det.sign = -det.sign;
    det.log += std::log(std::abs(a(i, i)));
  }
  LAPACKE_dgetri(LAPACK_COL_MAJOR, n, a.data, a.stride, pivots.data());
  return det;
}

bool invert(matrix_view<std::complex<double>> a) {
  const int n = square_size(a);
  if (n == 0) return true;
  std::vector<lapack_int> pivots(n);
  const auto info = LAPACKE_zgetrf(LAPACK_COL_MAJOR, n, n, a.data, a.stride, pivots.data());
  PLX_ASSERT(info >= 0, info);
  return info == 0 && LAPACKE_zgetri(LAPACK_COL_MAJOR, n, a.data, a.stride, pivots.data()) == 0;
}

std::vector<double> diagonalize_symmetric(matrix_view<double> a) {
  const int n = square_size(a);
  std::vector<double> values(n);
  if (n == 0) return values;
  const auto info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, a.data, a.stride, values.data());
  PLX_ASSERT(info == 0, info, n);
  return values;
}

general_eigensystem diagonalize(matrix_view<std::complex<double>> a) {
  const int n = square_size(a);
  general_eigensystem result{std::vector<std::complex<double>>(n), complex_matrix(n, n)};
  if (n == 0) return result;
  const auto info = LAPACKE_zgeev(LAPACK_COL_MAJOR, 'N', 'V', n, a.data, a.stride, result.values.data(), nullptr, 1,
                                  result.vectors.data(), result.vectors.stride());
  PLX_ASSERT(info == 0, info, n);
  return result;
}

}  // namespace plx
