// Dense matrices in column-major order, and views of parts of them.
//
// Thread safety: that of a vector. Cost: resizing within the capacity moves columns but does not allocate.
// Example: num/dense/test/linear_algebra_test.cpp
#pragma once

#include <algorithm>
#include <complex>
#include <type_traits>
#include <vector>

#include "base/assert.hpp"

namespace plx {

/// A part of a matrix: element (i, j) is data[i + j * stride]. T may be const.
template <class T>
struct matrix_view {
  T* data = nullptr;
  int rows = 0, columns = 0, stride = 0;

  matrix_view() = default;
  matrix_view(T* d, int r, int c, int s) noexcept : data(d), rows(r), columns(c), stride(s) {}
  /// A view of mutable elements is also one of constant elements.
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<const U, T>) matrix_view(const matrix_view<U>& v)
  noexcept : data(v.data), rows(v.rows), columns(v.columns), stride(v.stride) {}

  T& operator()(int i, int j) const noexcept { return data[i + static_cast<std::ptrdiff_t>(j) * stride]; }
  /// The first element of column j.
  T* column(int j) const noexcept { return data + static_cast<std::ptrdiff_t>(j) * stride; }
  /// The part of r x c elements with the upper left corner (i, j).
  matrix_view block(int i, int j, int r, int c) const {
    PLX_ASSERT(i >= 0 && j >= 0 && i + r <= rows && j + c <= columns, i, j, r, c, rows, columns);
    return {data + i + static_cast<std::ptrdiff_t>(j) * stride, r, c, stride};
  }
};

/// A matrix that owns its elements. The stride is at least the number of rows, so that a matrix that grows and shrinks
/// by single rows rarely allocates.
template <class T>
class matrix {
 public:
  matrix() = default;
  /// All elements are zero.
  matrix(int rows, int columns) : rows_(rows), columns_(columns), stride_(std::max(rows, 1)) {
    PLX_ASSERT(rows >= 0 && columns >= 0, rows, columns);
    data_.assign(static_cast<std::size_t>(stride_) * columns, T());
  }
  /// The unit matrix of n rows.
  static matrix identity(int n) {
    matrix m(n, n);
    for (int i = 0; i < n; ++i) m(i, i) = T(1);
    return m;
  }

  /// The size.
  int rows() const noexcept { return rows_; }
  /// The size.
  int columns() const noexcept { return columns_; }
  /// Elements from column to column.
  int stride() const noexcept { return stride_; }
  /// The first element.
  T* data() noexcept { return data_.data(); }
  const T* data() const noexcept { return data_.data(); }
  T& operator()(int i, int j) noexcept { return data_[i + static_cast<std::size_t>(j) * stride_]; }
  const T& operator()(int i, int j) const noexcept { return data_[i + static_cast<std::size_t>(j) * stride_]; }
  /// The first element of column j.
  T* column(int j) noexcept { return data() + static_cast<std::size_t>(j) * stride_; }
  const T* column(int j) const noexcept { return data() + static_cast<std::size_t>(j) * stride_; }

  /// A view of all elements; a change of the size invalidates it.
  matrix_view<T> view() noexcept { return {data(), rows_, columns_, stride_}; }
  matrix_view<const T> view() const noexcept { return {data(), rows_, columns_, stride_}; }
  operator matrix_view<T>() noexcept { return view(); }
  operator matrix_view<const T>() const noexcept { return view(); }

  /// Changes the size and keeps the elements that both sizes have; the values of new elements are unspecified.
  void resize(int rows, int columns) {
    PLX_ASSERT(rows >= 0 && columns >= 0, rows, columns);
    if (rows > stride_) {
      const int stride = std::max(rows, stride_ + stride_ / 2 + 8);
      std::vector<T> larger(static_cast<std::size_t>(stride) * std::max(columns, stride));
      const int kept = std::min(columns, columns_);
      for (int j = 0; j < kept; ++j)
        std::copy_n(column(j), rows_, larger.data() + static_cast<std::size_t>(j) * stride);
      data_.swap(larger);
      stride_ = stride;
    }
    const auto needed = static_cast<std::size_t>(stride_) * columns;
    if (data_.size() < needed) data_.resize(needed);
    rows_ = rows;
    columns_ = columns;
  }
  /// Changes the size without regard to the elements, whose values are unspecified afterwards.
  void reshape(int rows, int columns) {
    rows_ = 0;
    columns_ = 0;
    resize(rows, columns);
  }

 private:
  int rows_ = 0, columns_ = 0, stride_ = 1;
  std::vector<T> data_;
};

/// A matrix of real numbers.
using real_matrix = matrix<double>;
/// A matrix of complex numbers.
using complex_matrix = matrix<std::complex<double>>;

}  // namespace plx
