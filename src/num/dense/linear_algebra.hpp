// Linear algebra of dense matrices: typed calls of OpenBLAS and LAPACKE, each on the calling thread alone.
//
// A task is the unit of parallelism, so the library must not start threads: linking this one sets OpenBLAS to one
// thread. The same call gives the same bits on machines with the same instruction set. Thread safety: any thread, on
// different matrices. Cost: that of the BLAS; LAPACK functions allocate. Errors: sizes that do not match are broken
// contracts. Example: num/dense/test/linear_algebra_test.cpp
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "num/dense/matrix.hpp"

namespace plx {

/// Takes the memory in which the BLAS works, for that many threads at once and for the rest of the program: when memory
/// runs out later, OpenBLAS would try again forever. Errors: std::bad_alloc. Cost: address space, 128 MiB per thread,
/// for the first 48 threads; only what is used becomes memory.
void reserve_workspaces(unsigned threads);

/// How an operand of a product enters: as it is, transposed, or transposed and complex conjugate.
enum class transposed { no, yes, conjugate };

/// c = alpha op(a) op(b) + beta c. Shapes: op(a) [m][k], op(b) [k][n], c [m][n]. c must not overlap a or b.
void multiply(double alpha, matrix_view<const double> a, matrix_view<const double> b, double beta,
              matrix_view<double> c, transposed op_a = transposed::no, transposed op_b = transposed::no);
void multiply(std::complex<double> alpha, matrix_view<const std::complex<double>> a,
              matrix_view<const std::complex<double>> b, std::complex<double> beta, matrix_view<std::complex<double>> c,
              transposed op_a = transposed::no, transposed op_b = transposed::no);

/// y = alpha op(a) x + beta y. Shapes: op(a) [m][n], x [n], y [m], contiguous.
void multiply_vector(double alpha, matrix_view<const double> a, const double* x, double beta, double* y,
                     transposed op = transposed::no);

/// y_i = columns[i] . x, for columns at any places. Shapes: columns and y [n], each column and x [k], contiguous.
void multiply_columns(int n, int k, const double* const* columns, const double* x, double* y);

/// a += alpha x y^T. Shapes: x [rows], y [columns], y with the given increment.
void add_outer(double alpha, const double* x, const double* y, matrix_view<double> a, int y_increment = 1);

/// The sum of x_i y_i over n elements with the given increments.
double dot(int n, const double* x, const double* y, int x_increment = 1, int y_increment = 1);

/// The sign and the logarithm of the size of a determinant; a singular matrix has sign 0.
struct log_determinant {
  double sign = 1, log = 0;
};

/// Replaces a by its inverse and returns its determinant. If the sign is 0, a is unspecified afterwards.
/// Cost: 2 n^3.
log_determinant invert(matrix_view<double> a);
/// Replaces a by its inverse; false if it is singular. Cost: 8 n^3.
[[nodiscard]] bool invert(matrix_view<std::complex<double>> a);

/// Eigenvalues in ascending order; the columns of a become the orthonormal eigenvectors.
/// Requires: a symmetric (only its lower triangle is read). Cost: about 9 n^3.
std::vector<double> diagonalize_symmetric(matrix_view<double> a);

/// Eigenvalues and right eigenvectors of a general matrix, which is overwritten.
struct general_eigensystem {
  std::vector<std::complex<double>> values;
  complex_matrix vectors;  // column j belongs to values[j]; Euclidean norm 1
};
/// Requires: a square. Errors: an assertion if the iteration does not converge. Cost: about 25 n^3.
general_eigensystem diagonalize(matrix_view<std::complex<double>> a);

/// The eigenvalue with the largest real part of a general matrix, or of a W with W = diag(weights), by at most
/// `most_steps` steps of Arnoldi's process from a fixed vector: exact but for rounding up to as many rows; above, to
/// the accuracy that these steps reach, best for an eigenvalue apart from the others. NaN if an element is not finite.
/// Shapes: a: [n][n], n >= 1; weights: [n], or none. Requires: most_steps >= 1. Cost: most_steps products of a with a
/// vector, and diagonalize() of as many rows.
std::complex<double> leading_eigenvalue(matrix_view<const std::complex<double>> a,
                                        std::span<const std::complex<double>> weights = {}, int most_steps = 40);

}  // namespace plx
