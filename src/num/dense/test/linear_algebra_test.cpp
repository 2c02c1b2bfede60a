#include "num/dense/linear_algebra.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/sanitizers.hpp"
#include "base/test/memory_limit_test.hpp"

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

// Blocks of eight rows and four columns, with and without a rest; the library's own loops and those of the BLAS.
TEST(LinearAlgebra, VectorsOfAllSizes) {
  for (int rows : {1, 3, 7, 8, 9, 16, 23})
    for (int columns : {1, 2, 3, 4, 5, 9, 70}) {
      auto a = example<double>(rows, columns, 0.6);
      const auto x = example<double>(rows, 1, 0.1), y = example<double>(columns, 1, 0.2);
      std::vector<double> ay(rows, NAN), ax(columns, NAN);
      multiply_vector(2, a, y.data(), 0, ay.data());
      multiply_vector(3, a, x.data(), 0, ax.data(), transposed::yes);
      for (int i = 0; i < rows; ++i) {
        double expected = 0;
        for (int j = 0; j < columns; ++j) expected += 2 * a(i, j) * y(j, 0);
        EXPECT_NEAR(ay[i], expected, 1e-12) << rows << " " << columns << " " << i;
      }
      for (int j = 0; j < columns; ++j) {
        double expected = 0;
        for (int i = 0; i < rows; ++i) expected += 3 * a(i, j) * x(i, 0);
        EXPECT_NEAR(ax[j], expected, 1e-12) << rows << " " << columns << " " << j;
      }
      std::vector<const double*> from(columns);  // in the reverse order
      for (int j = 0; j < columns; ++j) from[j] = a.column(columns - 1 - j);
      std::vector<double> of_columns(columns, NAN);
      multiply_columns(columns, rows, from.data(), x.data(), of_columns.data());
      for (int j = 0; j < columns; ++j) EXPECT_NEAR(3 * of_columns[j], ax[columns - 1 - j], 1e-13);
      const auto before = a;
      add_outer(0.7, x.data(), y.data(), a);
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < rows; ++i) EXPECT_NEAR(a(i, j), before(i, j) + 0.7 * x(i, 0) * y(j, 0), 1e-13);
    }
}

// Products that the library divides into parts of columns.
TEST(LinearAlgebra, NarrowProductsOfLargeMatrices) {
  for (int n : {1, 8, 24, 61}) {
    const auto a = example<double>(301, 300, 0.1), b = example<double>(300, n, 0.2);
    auto c = example<double>(301, n, 0.3);
    const auto before = c;
    multiply(-1, a, b, 2, c);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < 301; i += 20)
        EXPECT_NEAR(c(i, j), 2 * before(i, j) - dot(300, &a(i, 0), b.column(j), 301), 1e-10);
  }
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

// Eigenvalues of a triangular matrix are its diagonal; those of large size are negative.
TEST(LinearAlgebra, LeadingEigenvalue) {
  for (int n : {1, 2, 7, 40, 41, 150}) {
    complex_matrix a(n, n);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < j; ++i) a(i, j) = 0.1 * complex(std::sin(i + 2.0 * j), std::cos(3.0 * i - j)) / double(j);
      a(j, j) = complex(0.6 - 3.0 * j / n, 0.2 * std::sin(j));
    }
    a(n / 2, n / 2) = complex(0.9, 0.3);
    const auto value = leading_eigenvalue(a);
    EXPECT_NEAR(std::abs(value - complex(0.9, 0.3)), 0, n <= 40 ? 1e-9 : 1e-5) << n;
  }
}

TEST(LinearAlgebra, LeadingEigenvalueOfColumnsWithWeights) {
  const int n = 40;
  complex_matrix a(n, n), product(n, n);
  std::vector<complex> weights(n);
  for (int j = 0; j < n; ++j) {
    weights[j] = complex(-1.0 / (1 + j), 0.1 / (2 + j));
    for (int i = 0; i < n; ++i) a(i, j) = complex(std::cos(i * j) + std::cos(i + j), std::sin(i * j + 1) / 3);
  }
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) product(i, j) = a(i, j) * weights[j];
  double largest = -HUGE_VAL;
  for (const auto& v : diagonalize(product).values) largest = std::max(largest, v.real());
  EXPECT_NEAR(leading_eigenvalue(a, weights).real(), largest, 1e-10);
  EXPECT_NEAR(leading_eigenvalue(a, weights, 24).real(), largest, 1e-3 * std::abs(largest));
  EXPECT_EQ(leading_eigenvalue(complex_matrix(n, n)), complex(0));
  for (const double bad : {double(NAN), double(INFINITY)}) {
    a(n / 2, 3) = bad;
    EXPECT_TRUE(std::isnan(leading_eigenvalue(a, weights).real()));
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

#if !defined(PLX_ASAN) && !defined(PLX_TSAN)  // these need address space of their own
// Ends with 0, or with 3 if std::bad_alloc is thrown. OpenBLAS would try forever: the alarm ends the process.
[[noreturn]] void invert_without_memory(bool reserved) {
  constexpr unsigned n = 4;  // at once: OpenBLAS has one buffer from the start
  alarm(20);
  if (reserved) reserve_workspaces(n);
  std::atomic<unsigned> ready{0}, good{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < n; ++t)
    threads.emplace_back([&] {
      const auto start = example<double>(300, 300, 0.3);
      auto a = start;
      for (++ready; !go;) std::this_thread::yield();
      bool all = true;
      for (int i = 0; i < 50; ++i) all = all && invert(a).sign != 0;
      if (all) ++good;
    });
  while (ready < n) std::this_thread::yield();
  limit_address_space(std::size_t{32} << 20);
  try {
    if (!reserved) reserve_workspaces(n);
  } catch (const std::bad_alloc&) {
    std::_Exit(3);
  }
  go = true;
  for (std::thread& t : threads) t.join();
  std::_Exit(good == n ? 0 : 1);
}

// The first tests: a buffer that an earlier one has used would be used again.
TEST(AFirstLinearAlgebraDeathTest, ReservedWorkspacesSufficeWhenMemoryRunsOut) {
  EXPECT_EXIT(invert_without_memory(true), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(invert_without_memory(false), testing::ExitedWithCode(3), "");
}
#endif

}  // namespace
}  // namespace plx
