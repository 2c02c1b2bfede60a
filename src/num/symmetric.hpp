// Sums of three terms whose bits do not depend on the order of the terms, and which negate exactly with them, so that a
// problem and its mirrored or permuted twin start from the same numbers.
//
// Thread safety: pure functions. Cost: two comparisons more than a plain sum.
#pragma once

#include <algorithm>

namespace plx {

/// a + b + c as (smallest + largest) + middle. The error is at most that of any other order of two additions.
inline double symmetric_sum(double a, double b, double c) noexcept {
  const double smallest = std::min(std::min(a, b), c), largest = std::max(std::max(a, b), c);
  const double middle = std::max(std::min(a, b), std::min(std::max(a, b), c));
  return (smallest + largest) + middle;
}

/// x^2 + y^2 + z^2.
inline double symmetric_norm2(double x, double y, double z) noexcept { return symmetric_sum(x * x, y * y, z * z); }

}  // namespace plx
