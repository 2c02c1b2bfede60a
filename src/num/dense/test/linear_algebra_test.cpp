#include "num/dense/linear_algebra.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

namespace plx {
namespace {

using complex = std::complex<double>;

// A well-conditioned matrix without symmetry.
template <class T>
matrix<T> example(int rows, int columns, double phase) {
  matrix<T> m(rows, columns);
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) {
      const double x = std::sin(1.7 * i + 0.9 * j * j + phase), y = std::cos(0.3 * i * j + 2.1 * i - j + phase);
      if constexpr (std::is_same_v<T, complex>)
        m(i, j) = complex(x, y);
      else
        m(i, j) = x;
      if (i == j) m(i, j) += 4.0;
    }
  return m;
}

template <class T>
T element(const matrix<T>& m, int i, int j, transposed op) {
  if (op == transposed::no) return m(i, j);
  if constexpr (std::is_same_v<T, complex>)
    return op == transposed::yes ? m(j, i) : std::conj(m(j, i));
  else
    return m(j, i);
}

template <class T>
void compare_products() {
  const int m = 5, n = 4, k = 3;
  for (auto op_a : {transposed::no, transposed::yes, transposed::conjugate})
    for (auto op_b : {transposed::no, transposed::yes, transposed::conjugate}) {
      const auto a = op_a == transposed::no ? example<T>(m, k, 0.1) : example<T>(k, m, 0.1);
      const auto b = op_b == transposed::no ? example<T>(k, n, 0.2) : example<T>(n, k, 0.2);
      const auto before = example<T>(m, n, 0.3);
      auto c = before;
      multiply(T(2), a, b, T(0.5), c, op_a, op_b);
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          T expected = T(0.5) * before(i, j);
          for (int l = 0; l < k; ++l) expected += T(2) * element(a, i, l, op_a) * element(b, l, j, op_b);
          EXPECT_NEAR(std::abs(c(i, j) - expected), 0, 1e-13);
        }
    }
}

TEST(LinearAlgebra, ProductsOfAllTranspositions) {
  compare_products<double>();
  compare_products<complex>();
}

TEST(LinearAlgebra, VectorsAndOuterProducts) {
  auto a = example<double>(3, 2, 0.4);
  const double x[] = {1, -2}, z[] = {0.5, 3, -1};
  double y[3] = {1, 1, 1}, w[2] = {7, 7};
  multiply_vector(2, a, x, 1, y);
  multiply_vector(1, a, z, 0, w, transposed::yes);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(y[i], 1 + 2 * (a(i, 0) - 2 * a(i, 1)), 1e-14);
  for (int j = 0; j < 2; ++j) EXPECT_NEAR(w[j], 0.5 * a(0, j) + 3 * a(1, j) - a(2, j), 1e-14);
  EXPECT_NEAR(dot(3, z, y), 0.5 * y[0] + 3 * y[1] - y[2], 1e-14);
  const auto before = a;
  add_outer(3, z, x, a);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) EXPECT_NEAR(a(i, j), before(i, j) + 3 * z[i] * x[j], 1e-14);
}

TEST(LinearAlgebra, InverseAndDeterminant) {
  const int n = 6;
  const auto a = example<double>(n, n, 0.5);
  auto inverse = a;
  const auto det = invert(inverse);
  real_matrix product(n, n);
  multiply(1, a, inverse, 0, product);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) EXPECT_NEAR(product(i, j), i == j, 1e-13);
  real_matrix two(2, 2);
  two(0, 1) = 2;
  two(1, 0) = 3;
  const auto minus_six = invert(two);
  EXPECT_EQ(minus_six.sign, -1);
  EXPECT_NEAR(minus_six.log, std::log(6.0), 1e-14);
  EXPECT_NEAR(two(0, 1), 1.0 / 3, 1e-15);
  EXPECT_EQ(invert(inverse).sign, det.sign);
  real_matrix singular(2, 2);
  EXPECT_EQ(invert(singular).sign, 0);

  const auto z = example<complex>(n, n, 0.6);
  auto z_inverse = z;
  ASSERT_TRUE(invert(z_inverse));
  complex_matrix z_product(n, n);
  multiply(complex(1), z, z_inverse, complex(0), z_product);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) EXPECT_NEAR(std::abs(z_product(i, j) - complex(i == j)), 0, 1e-13);
}

TEST(LinearAlgebra, EigenvaluesOfAChainHaveTheClosedForm) {
  const int n = 7;
  real_matrix h(n, n);
  for (int i = 0; i + 1 < n; ++i) h(i + 1, i) = h(i, i + 1) = -1;
  auto v = h;
  const auto e = diagonalize_symmetric(v);
  for (int j = 0; j < n; ++j) {
    EXPECT_NEAR(e[j], -2 * std::cos(M_PI * (j + 1) / (n + 1)), 1e-14);
    for (int i = 0; i < n; ++i) {
      double hv = 0;
      for (int l = 0; l < n; ++l) hv += h(i, l) * v(l, j);
      EXPECT_NEAR(hv, e[j] * v(i, j), 1e-14);
    }
  }
}

TEST(LinearAlgebra, GeneralEigenvectors) {
  const int n = 5;
  const auto a = example<complex>(n, n, 0.7);
  auto copy = a;
  const auto system = diagonalize(copy);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      complex av = 0;
      for (int l = 0; l < n; ++l) av += a(i, l) * system.vectors(l, j);
      EXPECT_NEAR(std::abs(av - system.values[j] * system.vectors(i, j)), 0, 1e-12);
    }
}

TEST(Matrix, ResizingKeepsElements) {
  real_matrix m;
  for (int n = 1; n <= 40; ++n) {
    m.resize(n, n);
    for (int i = 0; i < n; ++i) m(i, n - 1) = m(n - 1, i) = i * 100 + n;
  }
  m.resize(30, 20);
  for (int j = 0; j < 20; ++j)
    for (int i = 0; i < 30; ++i) EXPECT_EQ(m(i, j), std::min(i, j) * 100 + std::max(i, j) + 1);
}

// A walker that continues from a checkpoint has matrices with other strides, at other addresses, than before. Products
// of a matrix of up to three rows and a vector are omitted: OpenBLAS has special cases where the stride is as small.
TEST(LinearAlgebra, BitsDoNotDependOnStrides) {
  const auto copied = [](const real_matrix& m, int padding) {
    real_matrix larger(m.rows() + padding, m.columns() + padding);
    larger.resize(m.rows(), m.columns());
    for (int j = 0; j < m.columns(); ++j) std::copy_n(m.column(j), m.rows(), larger.column(j));
    return larger;
  };
  const auto same = [](const real_matrix& x, const real_matrix& y) {
    for (int j = 0; j < x.columns(); ++j)
      if (!std::equal(x.column(j), x.column(j) + x.rows(), y.column(j))) return false;
    return true;
  };
  const int sizes[] = {1, 2, 3, 5, 8, 16, 17, 31, 48, 64, 65, 100, 131, 203};
  for (int m : sizes)
    for (int k : sizes)
      for (int n : {1, 7, 26, 64, 121}) {
        const auto a = example<double>(m, k, 0.1), b = example<double>(k, n, 0.2), c = example<double>(m, n, 0.3);
        const auto results = [&](int padding) {
          auto product = copied(c, padding), outer = copied(a, padding), vectors = copied(c, 0);
          const auto left = copied(a, padding);
          multiply(1, left, copied(b, padding / 2), 1, product);
          if (n == 1 && m > 3) {
            multiply_vector(1, left, b.column(0), 0, vectors.column(0));
            add_outer(0.7, c.column(0), b.column(0), outer);
            std::vector<double> back(k);
            multiply_vector(1, left, c.column(0), 0, back.data(), transposed::yes);
            add_outer(0.3, vectors.column(0), back.data(), outer);
          }
          return std::vector<real_matrix>{product, outer, vectors};
        };
        const auto expected = results(0);
        for (int padding : {1, 13, 40}) {
          const auto found = results(padding);
          for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_TRUE(same(expected[i], found[i])) << m << ' ' << k << ' ' << n << ' ' << padding << ' ' << i;
        }
      }
}

// Builds of the library exist that share buffers between callers.
TEST(LinearAlgebra, ProductsOfSeveralThreadsAtOnce) {
  const auto waves = example<double>(60, 48, 0.1), m = example<double>(60, 60, 0.2);
  const auto transform = [&] {
    real_matrix half(60, 48), result(48, 48);
    multiply(1, m, waves, 0, half);
    multiply(1, waves, half, 0, result, transposed::yes);
    return result;
  };
  const auto expected = transform();
  std::atomic<int> different = 0;
  const auto repeat = [&] {
    for (int i = 0; i < 10000; ++i) {
      const auto result = transform();
      if (!std::equal(expected.data(), expected.data() + 48 * 48, result.data())) ++different;
    }
  };
  std::thread second(repeat), third(repeat);
  repeat();
  second.join();
  third.join();
  EXPECT_EQ(different, 0);
}

}  // namespace
}  // namespace plx
