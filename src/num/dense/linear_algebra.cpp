#include "num/dense/linear_algebra.hpp"

// LAPACKE takes std::complex for the complex type of C.
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <cblas.h>
#include <lapacke.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "num/clones.hpp"
#include "num/dense/blas_kernels.hpp"

extern "C" {  // of OpenBLAS, exported but not declared
[[gnu::weak]] void* blas_memory_alloc(int);
[[gnu::weak]] void blas_memory_free(void*);
}

namespace plx {
namespace {

// Set before main(): this object file is linked wherever one of its functions is called. The build with threads would
// start them inside a task; the others share buffers between callers without locks (OpenBLAS 0.3.21), and which build
// is loaded can be changed after linking (update-alternatives).
[[maybe_unused]] const bool one_thread = [] {
  detail::restart_with_better_kernels();
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

// Products with vectors below this number of columns are loops of our own: a call of the BLAS costs more than they do.
constexpr int few_columns = 64;
constexpr int width = 8;  // numbers in one register, with AVX-512
// A typedef: Clang ignores the alignment in a using-declaration.
typedef double lanes __attribute__((vector_size(width * sizeof(double)), aligned(sizeof(double)), may_alias));
static_assert(alignof(lanes) == sizeof(double));

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

// Buffers that are free stay mapped, and the next caller takes one of them.
void reserve_workspaces(unsigned threads) {
  if (blas_memory_alloc == nullptr || blas_memory_free == nullptr) return;
  constexpr std::size_t bytes = std::size_t{136} << 20;  // of a buffer, with room for its alignment
  constexpr unsigned most = 48;                          // OpenBLAS has at least 50
  std::vector<void*> all;
  const auto free_all = [&] { std::for_each(all.begin(), all.end(), blas_memory_free); };
  all.reserve(most);
  for (unsigned i = 0; i < std::min(threads, most); ++i) {
    void* const room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
      free_all();
      throw std::bad_alloc();
    }
    munmap(room, bytes);
    all.push_back(blas_memory_alloc(1));
  }
  free_all();
}

// Where the number of rows is no multiple of the width, the last block overlaps the one before.
namespace detail {

PLX_NUM_CLONES void multiply_few(double alpha, const double* a, std::ptrdiff_t stride, int rows, int columns,
                                 const double* x, double* y) {
  if (rows < width) {
    for (int i = 0; i < rows; ++i) {
      double sum = 0;
      for (int j = 0; j < columns; ++j) sum += x[j] * a[i + j * stride];
      y[i] = alpha * sum;
    }
    return;
  }
  for (int first = 0; first < rows; first += width) {
    const int i = std::min(first, rows - width);
    lanes sum = {};
    for (int j = 0; j < columns; ++j) sum += x[j] * *reinterpret_cast<const lanes*>(a + i + j * stride);
    *reinterpret_cast<lanes*>(y + i) = alpha * sum;
  }
}

PLX_NUM_CLONES void multiply_columns(const double* const* columns, int n, int k, const double* x, double* y) {
  if (k < width) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int i = 0; i < k; ++i) sum += x[i] * columns[j][i];
      y[j] = sum;
    }
    return;
  }
  const int whole = k - k % width;
  lanes rest = {};  // x in the last block, without what the block before it has
  for (int i = whole; i < k; ++i) rest[width - k + i] = x[i];
  constexpr int together = 4;  // columns
  for (int j = 0; j < n; j += together) {
    const double* from[together];
    for (int c = 0; c < together; ++c) from[c] = columns[std::min(j + c, n - 1)];
    lanes sum[together] = {};
    for (int i = 0; i < whole; i += width) {
      const lanes v = *reinterpret_cast<const lanes*>(x + i);
      for (int c = 0; c < together; ++c) sum[c] += v * *reinterpret_cast<const lanes*>(from[c] + i);
    }
    for (int c = 0; c < together && whole < k; ++c)
      sum[c] += rest * *reinterpret_cast<const lanes*>(from[c] + k - width);
    for (int c = 0; c < together && j + c < n; ++c) {
      const lanes& s = sum[c];
      y[j + c] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }
  }
}

void multiply_few_transposed(double alpha, const double* a, std::ptrdiff_t stride, int rows, int columns,
                             const double* x, double* y) {
  const double* all[few_columns] = {};
  for (int j = 0; j < columns; ++j) all[j] = a + j * stride;
  multiply_columns(all, columns, rows, x, y);
  for (int j = 0; j < columns && alpha != 1; ++j) y[j] *= alpha;
}

PLX_NUM_CLONES void add_outer_few(double alpha, const double* x, const double* y, double* a, std::ptrdiff_t stride,
                                  int rows, int columns) {
  for (int j = 0; j < columns; ++j) {
    const double factor = alpha * y[j];
    double* column = a + j * stride;
    for (int i = 0; i < rows; ++i) column[i] += factor * x[i];
  }
}

}  // namespace detail

void multiply(double alpha, matrix_view<const double> a, matrix_view<const double> b, double beta,
              matrix_view<double> c, transposed op_a, transposed op_b) {
  const int k = inner_size(a, b, c, op_a, op_b);
  if (c.rows == 0 || c.columns == 0) return;
  // OpenBLAS packs the operands of larger products, which takes longer than the product of a large and a narrow matrix.
  constexpr double largest_unpacked = 999999;  // multiplications, of its kernels for AVX-512
  const double of_column = static_cast<double>(c.rows) * k;
  const bool is_narrow = op_a == transposed::no && op_b == transposed::no && c.columns <= few_columns;
  int part = c.columns;
  if (is_narrow && of_column * part > largest_unpacked && of_column * width <= largest_unpacked)
    part = static_cast<int>(largest_unpacked / of_column) / width * width;
  for (int j = 0; j < c.columns; j += part)
    cblas_dgemm(CblasColMajor, blas(op_a), blas(op_b), c.rows, std::min(part, c.columns - j), k, alpha, a.data,
                std::max(a.stride, 1), b.column(j), std::max(b.stride, 1), beta, c.column(j), c.stride);
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
  if (beta == 0 && a.columns <= few_columns) {
    if (op == transposed::no) return detail::multiply_few(alpha, a.data, a.stride, a.rows, a.columns, x, y);
    return detail::multiply_few_transposed(alpha, a.data, a.stride, a.rows, a.columns, x, y);
  }
  cblas_dgemv(CblasColMajor, blas(op), a.rows, a.columns, alpha, a.data, a.stride, x, 1, beta, y, 1);
}

void multiply_columns(int n, int k, const double* const* columns, const double* x, double* y) {
  detail::multiply_columns(columns, n, k, x, y);
}

void add_outer(double alpha, const double* x, const double* y, matrix_view<double> a, int y_increment) {
  if (a.rows == 0 || a.columns == 0) return;
  if (y_increment == 1 && a.columns <= few_columns)
    return detail::add_outer_few(alpha, x, y, a.data, a.stride, a.rows, a.columns);
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

std::complex<double> leading_eigenvalue(matrix_view<const std::complex<double>> a,
                                        std::span<const std::complex<double>> weights, int most_steps) {
  using complex = std::complex<double>;
  const int n = square_size(a), steps = std::min(n, most_steps);
  PLX_ASSERT(n >= 1 && steps >= 1, n, most_steps);
  PLX_ASSERT(weights.empty() || weights.size() == static_cast<std::size_t>(n), weights.size(), n);
  complex_matrix basis(n, steps + 1), projected(steps, steps);
  const auto product = [&](const complex* x, const complex* y) {
    complex sum = 0;
    for (int i = 0; i < n; ++i) sum += std::conj(x[i]) * y[i];
    return sum;
  };
  // An irregular vector has a part of each eigenvector.
  double norm = 0;
  for (int i = 0; i < n; ++i) norm += std::norm(basis(i, 0) = 1 + 0.5 * std::sin(1.0 + 2.3 * i * i));
  for (int i = 0; i < n; ++i) basis(i, 0) /= std::sqrt(norm);
  std::vector<complex> factor(n);
  int m = 0;
  while (m < steps) {
    complex* next = basis.column(m + 1);
    for (int i = 0; i < n; ++i) factor[i] = weights.empty() ? basis(i, m) : weights[i] * basis(i, m);
    multiply(complex(1), a, {factor.data(), n, 1, n}, complex(0), {next, n, 1, n});
    const double before = std::sqrt(product(next, next).real());
    for (int pass = 0; pass < 2; ++pass)  // the second removes what rounding has left
      for (int l = 0; l <= m; ++l) {
        const complex part = product(basis.column(l), next);
        projected(l, m) += part;
        for (int i = 0; i < n; ++i) next[i] -= part * basis(i, l);
      }
    const double rest = std::sqrt(product(next, next).real());
    if (++m == steps || !(rest > 1e-13 * before)) break;  // or the space is invariant, or a has an infinity
    projected(m, m - 1) = rest;
    for (int i = 0; i < n; ++i) next[i] /= rest;
  }
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < m; ++i)
      if (!std::isfinite(projected(i, j).real()) || !std::isfinite(projected(i, j).imag())) return {NAN, NAN};
  const auto values = diagonalize(projected.view().block(0, 0, m, m)).values;
  return *std::max_element(values.begin(), values.end(),
                           [](const complex& x, const complex& y) { return x.real() < y.real(); });
}

}  // namespace plx
