// The exact sum of doubles, rounded once: the same bits for any order of the terms, any grouping, any number of
// threads, and the exact negative for negated terms. For error norms, totals and averages that must compare bit by bit.
//
// Thread safety: none; give each thread its own and merge. Cost: about 5 ns per add, 64 to 300 ns per value(), 560
// bytes. Read num/test/exact_sum_test.cpp as an example.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace plx {

class exact_sum {
 public:
  /// Adds one term. Infinities and NaN are remembered: value() then is what plain addition would give.
  void add(double term) noexcept;

  /// Adds all terms of another sum.
  void add(const exact_sum& other) noexcept;

  /// The sum of all terms, rounded to nearest, ties to even. Zero when there are none.
  double value() const noexcept;

  /// Appends the sum as whole numbers, exactly: to add it elsewhere. Cost: three, and one per 32 bits that terms span.
  void append_to(std::vector<std::int64_t>& out) const;
  /// Adds a sum that append_to() wrote, and takes it off the front of `from`. False when there is none: nothing is
  /// added.
  bool add_from(std::span<const std::int64_t>& from) noexcept;

 private:
  static constexpr int limb_bits = 32;
  static constexpr int n_limbs = 70;  // 2098 bits of double range, and room for carries of 2^62 terms

  void carry() noexcept;
  double rounded() const noexcept;

  // The sum is limbs_[i] * 2^(32 i - 1074). Each add changes a limb by less than 2^32, so 2^30 adds cannot overflow.
  std::array<std::int64_t, n_limbs> limbs_{};
  std::int64_t adds_since_carry_ = 0;
  int first_ = n_limbs, last_ = -1;  // limbs outside [first_, last_] are zero
  double special_ = 0;
};

}  // namespace plx
