// The exact sum of doubles, rounded once: the same bits for any order and grouping of the terms and any number of
// threads, and the exact negative for negated terms. For error norms, totals and averages that are compared bit by bit.
//
// Thread safety: none; use one per thread and merge. Cost: about 5 ns per add, 64 to 300 ns per value(), 560 bytes.
// Example: num/test/exact_sum_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace plx {

class exact_sum {
 public:
  /// Adds one term. With infinities or NaN, value() is the result of plain addition.
  void add(double term) noexcept;

  /// Adds all terms of another sum.
  void add(const exact_sum& other) noexcept;

  /// The sum of all terms, rounded to nearest, ties to even; zero if there are none.
  double value() const noexcept;

  /// Appends the exact sum as integers, for add_from(). Cost: three integers, and one per 32 bits of the terms' range.
  void append_to(std::vector<std::int64_t>& out) const;
  /// Adds a sum written by append_to() and removes it from the front of `from`. Returns false and adds nothing if
  /// `from` does not begin with one.
  bool add_from(std::span<const std::int64_t>& from) noexcept;

 private:
  static constexpr int limb_bits = 32;
  static constexpr int n_limbs = 70;  // 2098 bits of double range, and headroom for the carries of 2^62 terms

  void carry() noexcept;
  double rounded() const noexcept;

  // The sum is limbs_[i] * 2^(32 i - 1074). Each add changes a limb by less than 2^32, so 2^30 adds cannot overflow.
  std::array<std::int64_t, n_limbs> limbs_{};
  std::int64_t adds_since_carry_ = 0;
  int first_ = n_limbs, last_ = -1;  // limbs outside [first_, last_] are zero
  double special_ = 0;
};

}  // namespace plx
