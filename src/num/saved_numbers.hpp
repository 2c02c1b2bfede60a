// The state of an object as a list of numbers, for checkpoints: what is read back has the same bits.
//
// Integers are exact up to 2^53. A reader that reaches the end gives zeros and is no longer complete, so that damage is
// recognized once, at the end. Thread safety: one thread at a time per object. Cost: a copy.
// Example: num/test/saved_numbers_test.cpp
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "num/dense/matrix.hpp"

namespace plx {

/// Appends to a list of numbers.
class number_writer {
 public:
  explicit number_writer(std::vector<double>& to) : to_(&to) {}
  /// One number.
  void add(double x) { to_->push_back(x); }
  /// All bits of an integer, which may be above 2^53.
  void add_unsigned(std::uint64_t x) {
    add(static_cast<double>(x >> 32));
    add(static_cast<double>(x & 0xffffffff));
  }
  /// Numbers, after their count.
  void add(std::span<const double> x) {
    add(static_cast<double>(x.size()));
    to_->insert(to_->end(), x.begin(), x.end());
  }
  /// A matrix with its stride, on which the bits of a product with a vector may depend if it has up to three rows.
  void add(const real_matrix& m) {
    for (int n : {m.rows(), m.columns(), m.stride()}) add(n);
    for (int j = 0; j < m.columns(); ++j) to_->insert(to_->end(), m.column(j), m.column(j) + m.rows());
  }

 private:
  std::vector<double>* to_;
};

/// Reads what a number_writer has written, in the same order.
class number_reader {
 public:
  explicit number_reader(std::span<const double> from) : from_(from) {}
  /// One number; 0 at the end, after which the data count as incomplete.
  double number() {
    if (at_ >= from_.size()) return missing_ = true, 0;
    return from_[at_++];
  }
  /// One number as an integer.
  template <class T>
  T integer() {
    return static_cast<T>(number());
  }
  /// That of add_unsigned().
  std::uint64_t unsigned_integer() {
    const auto high = integer<std::uint64_t>();
    return high << 32 | integer<std::uint64_t>();
  }
  /// Numbers after their count.
  std::vector<double> numbers() {
    const std::size_t n = count(number());
    if (n > from_.size() - at_) return missing_ = true, std::vector<double>();
    std::vector<double> x(from_.begin() + at_, from_.begin() + at_ + n);
    at_ += n;
    return x;
  }
  /// A matrix with its stride.
  real_matrix matrix() {
    const auto rows = count(number()), columns = count(number());
    const auto stride = count(number());
    if (rows > stride || rows * columns > from_.size() - at_) return missing_ = true, real_matrix();
    real_matrix m(static_cast<int>(stride), static_cast<int>(columns));
    m.resize(static_cast<int>(rows), static_cast<int>(columns));
    for (std::size_t j = 0; j < columns; ++j, at_ += rows)
      std::copy_n(from_.begin() + at_, rows, m.column(static_cast<int>(j)));
    return m;
  }
  /// Whether everything has been read, and nothing was missing.
  bool is_complete() const noexcept { return !missing_ && at_ == from_.size(); }

 private:
  // No count exceeds that of all numbers, except the stride of a matrix.
  std::size_t count(double x) {
    constexpr double most = 1 << 24;
    const double rest = static_cast<double>(from_.size());
    if (!(x >= 0 && x <= std::max(rest, most))) return missing_ = true, 0;
    return static_cast<std::size_t>(x);
  }

  std::span<const double> from_;
  std::size_t at_ = 0;
  bool missing_ = false;
};

}  // namespace plx
