// x^y, logarithm and cube root per lane. Not those of libm, which differ between instruction sets; the entropy tracer
// needs one power per cell and stage. x^y = 2^(y log2 x) with series whose last terms are below 1e-17; relative error
// below 1e-14 for |y log2 x| < 100.
//
// Thread safety: pure. Cost: a power about 65 instructions and one division for `lanes` values, a cube root 75 and two.
// Example: star/hydro/test/state_test.cpp
#pragma once

#include "star/hydro/kernel/kernel_simd.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// c[0] + c[1] x + ... + c[2 n - 1] x^(2 n - 1): pairs first, then Horner's rule in x^2, which halves the chain of
/// dependent operations.
template <int terms>
PLX_INLINE vd polynomial(const double (&c)[terms], vd x) {
  static_assert(terms % 2 == 0);
  vd x2 = x * x;
  vd sum = all(c[terms - 2]) + all(c[terms - 1]) * x;
  for (int n = terms - 4; n >= 0; n -= 2) sum = sum * x2 + (all(c[n]) + all(c[n + 1]) * x);
  return sum;
}

/// Natural logarithm of m in [sqrt(1/2), sqrt(2)]: 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...), s = (m - 1)/(m + 1).
PLX_INLINE vd log_near_one(vd m) {
  constexpr double odd_inverse[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                    1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  vd s = (m - all(1.0)) / (m + all(1.0));
  return (s + s) * polynomial(odd_inverse, s * s);
}

/// e^t for |t| <= log(2)/2: the Taylor series up to t^13.
PLX_INLINE vd exp_near_zero(vd t) {
  constexpr double inverse_factorial[] = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  return polynomial(inverse_factorial, t);
}

/// x = 2^k m with k an integer, m in [sqrt(1/2), sqrt(2)].
struct binary_parts {
  vd k, m;
};
constexpr double two52 = 4503599627370496.0;
PLX_INLINE binary_parts split(vd x) {
  constexpr std::uint64_t one = 0x3ff0000000000000u, root_half = 0x3fe6a09e00000000u, mantissa = 0x000fffffffffffffu;
  vu shifted = as_bits(x) + all_bits(one - root_half);  // k + 1023 in the exponent
  return {as_double((shifted >> 52) | all_bits(0x4330000000000000u)) - all(two52 + 1023.0),
          as_double((shifted & all_bits(mantissa)) + all_bits(root_half))};
}

/// Natural logarithm. Requires: x positive, finite and not denormal.
PLX_INLINE vd logarithm(vd x) {
  const binary_parts p = split(x);
  return p.k * all(0.69314718055994530942) + log_near_one(p.m);
}

/// 2^z; z beyond +-1000 counts as +-1000, NaN as -1000.
PLX_INLINE vd power_of_two(vd z) {
  z = clamp(z, all(-1000.0), all(1000.0));
  vd rounded = z + all(1.5 * two52);  // the integer nearest to z in the low bits
  vd fraction = z - (rounded - all(1.5 * two52));
  vd p = exp_near_zero(fraction * all(0.69314718055994530942));
  return as_double(as_bits(p) + (as_bits(rounded) << 52));
}

/// e^x, with the relative error of rounding x log2 e: 1e-16 |x|. NaN counts as -infinity.
PLX_INLINE vd exponential(vd x) { return power_of_two(x * all(1.4426950408889634074)); }

/// Requires: |y log2 x| < 1000. x below 1e-250 counts as 1e-250; NaN and infinity stay.
PLX_INLINE vd power(vd x, vd y) {
  x = at_least(1e-250, x);
  const binary_parts p2 = split(x);
  const vd r = power_of_two(y * (p2.k + log_near_one(p2.m) * all(1.4426950408889634074)));
  return select(not_less(x, all(__builtin_inf())), x, r);
}

/// A power and a step of Newton's method. Requires: x >= 1e-250; NaN and infinity give NaN.
PLX_INLINE vd cube_root(vd x) {
  const vd y = power(x, all(1.0 / 3.0)), y2 = y * y;
  return y - (y2 * y - x) / (all(3.0) * y2);
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
