// A vector of `lanes` doubles, as wide as a register of the instruction set of this translation unit. Arithmetic uses
// the compilers' vector extension; the few operations it lacks are here, on x86 as intrinsics and for all other
// machines in plain C++. All of them give the same result in each lane on each machine, including NaN and signed zeros:
// vmin(a, b) is a < b ? a : b, so an operand that may be NaN goes second.
//
// Thread safety: values. Cost: mostly one instruction each.
// Example: star/hydro/kernel/kernel_reconstruct.hpp
#pragma once

#include <cstdint>

#if defined(__AVX2__) && !defined(PLX_HYDRO_ONE_LANE)
#include <immintrin.h>
#endif

#include "star/hydro/parameters.hpp"

// The loops of the emulated device are left to the compiler: all in one, their 50 instances would take it a minute.
#if defined(PLX_HYDRO_ONE_LANE) && !defined(__CUDACC__) && !defined(__HIPCC__)
#define PLX_INLINE PLX_DEVICE inline
#else
#define PLX_INLINE PLX_DEVICE inline __attribute__((always_inline))
#endif
// Functions of some hundred instructions that many kernels use: inlined, the kernels would be a third longer or more,
// and take minutes to compile for devices.
#define PLX_NOINLINE PLX_DEVICE inline __attribute__((noinline))

namespace plx::star::PLX_HYDRO_ISA {

namespace {

#if defined(PLX_HYDRO_ONE_LANE)  // a thread of a GPU, or its body on the CPU

constexpr int lanes = 1;
using vd = double;
using vm = bool;
PLX_INLINE vd all(double x) { return x; }
PLX_INLINE vd load(const double* p) { return *p; }
PLX_INLINE void store(double* p, vd x) { *p = x; }
PLX_INLINE vd vmin(vd a, vd b) { return a < b ? a : b; }
PLX_INLINE vd vmax(vd a, vd b) { return a > b ? a : b; }
PLX_INLINE vd vsqrt(vd a) { return __builtin_sqrt(a); }
PLX_INLINE vd vabs(vd a) { return __builtin_fabs(a); }
PLX_INLINE vm less(vd a, vd b) { return a < b; }
PLX_INLINE vm not_less(vd a, vd b) { return !(a < b); }
PLX_INLINE vd select(vm m, vd a, vd b) { return m ? a : b; }
PLX_INLINE vm either(vm a, vm b) { return a || b; }
PLX_INLINE vm both(vm a, vm b) { return a && b; }
PLX_INLINE unsigned bits(vm m) { return m ? 1u : 0u; }

#elif defined(__AVX512DQ__) && defined(__AVX512VL__)

constexpr int lanes = 8;
using vd = __m512d;
using vm = __mmask8;
PLX_INLINE vd all(double x) { return _mm512_set1_pd(x); }
PLX_INLINE vd load(const double* p) { return _mm512_loadu_pd(p); }
PLX_INLINE void store(double* p, vd x) { _mm512_storeu_pd(p, x); }
PLX_INLINE vd vmin(vd a, vd b) { return _mm512_min_pd(a, b); }
PLX_INLINE vd vmax(vd a, vd b) { return _mm512_max_pd(a, b); }
PLX_INLINE vd vsqrt(vd a) { return _mm512_sqrt_pd(a); }
PLX_INLINE vd vabs(vd a) { return _mm512_abs_pd(a); }
PLX_INLINE vm less(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
PLX_INLINE vm not_less(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_NLT_UQ); }
PLX_INLINE vd select(vm m, vd a, vd b) { return _mm512_mask_blend_pd(m, b, a); }
PLX_INLINE vm either(vm a, vm b) { return static_cast<vm>(a | b); }
PLX_INLINE vm both(vm a, vm b) { return static_cast<vm>(a & b); }
PLX_INLINE unsigned bits(vm m) { return m; }

#elif defined(__AVX2__)

constexpr int lanes = 4;
using vd = __m256d;
using vm = __m256d;
PLX_INLINE vd all(double x) { return _mm256_set1_pd(x); }
PLX_INLINE vd load(const double* p) { return _mm256_loadu_pd(p); }
PLX_INLINE void store(double* p, vd x) { _mm256_storeu_pd(p, x); }
PLX_INLINE vd vmin(vd a, vd b) { return _mm256_min_pd(a, b); }
PLX_INLINE vd vmax(vd a, vd b) { return _mm256_max_pd(a, b); }
PLX_INLINE vd vsqrt(vd a) { return _mm256_sqrt_pd(a); }
PLX_INLINE vd vabs(vd a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a); }
PLX_INLINE vm less(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
PLX_INLINE vm not_less(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_NLT_UQ); }
PLX_INLINE vd select(vm m, vd a, vd b) { return _mm256_blendv_pd(b, a, m); }
PLX_INLINE vm either(vm a, vm b) { return _mm256_or_pd(a, b); }
PLX_INLINE vm both(vm a, vm b) { return _mm256_and_pd(a, b); }
PLX_INLINE unsigned bits(vm m) { return static_cast<unsigned>(_mm256_movemask_pd(m)); }

#else

constexpr int lanes = 2;
typedef double vd __attribute__((vector_size(16)));
using vm = decltype(vd{} < vd{});
PLX_INLINE vd all(double x) { return vd{x, x}; }
PLX_INLINE vd load(const double* p) {
  vd r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
PLX_INLINE void store(double* p, vd x) { __builtin_memcpy(p, &x, sizeof x); }
PLX_INLINE vm less(vd a, vd b) { return a < b; }
PLX_INLINE vm not_less(vd a, vd b) { return ~(a < b); }
PLX_INLINE vd select(vm m, vd a, vd b) {
  return reinterpret_cast<vd>((reinterpret_cast<vm>(a) & m) | (reinterpret_cast<vm>(b) & ~m));
}
PLX_INLINE vd vmin(vd a, vd b) { return a < b ? a : b; }
PLX_INLINE vd vmax(vd a, vd b) { return a > b ? a : b; }
PLX_INLINE vd vsqrt(vd a) { return vd{__builtin_sqrt(a[0]), __builtin_sqrt(a[1])}; }
PLX_INLINE vd vabs(vd a) { return reinterpret_cast<vd>(reinterpret_cast<vm>(a) & 0x7fffffffffffffffll); }
PLX_INLINE vm either(vm a, vm b) { return a | b; }
PLX_INLINE vm both(vm a, vm b) { return a & b; }
PLX_INLINE unsigned bits(vm m) { return (m[0] ? 1u : 0u) | (m[1] ? 2u : 0u); }

#endif

#if defined(PLX_HYDRO_ONE_LANE)
using vu = std::uint64_t;
PLX_INLINE vu as_bits(vd x) { return __builtin_bit_cast(vu, x); }
PLX_INLINE vd as_double(vu x) { return __builtin_bit_cast(vd, x); }
PLX_INLINE vu all_bits(std::uint64_t x) { return x; }
PLX_INLINE double lane(vd x, int) { return x; }
#else
typedef std::uint64_t vu __attribute__((vector_size(lanes * 8)));
PLX_INLINE vu as_bits(vd x) { return reinterpret_cast<vu>(x); }
PLX_INLINE vd as_double(vu x) { return reinterpret_cast<vd>(x); }
PLX_INLINE vu all_bits(std::uint64_t x) { return x - vu{}; }
PLX_INLINE double lane(vd x, int l) { return x[l]; }
#endif

/// Number of lanes that are set, and the first of them. Requires: for first_of: at least one.
PLX_INLINE int count_of(unsigned lanes_set) {
#if defined(PLX_HYDRO_ONE_LANE)
  return static_cast<int>(lanes_set);
#else
  return __builtin_popcount(lanes_set);
#endif
}
PLX_INLINE int first_of(unsigned lanes_set) {
#if defined(PLX_HYDRO_ONE_LANE)
  return static_cast<int>(lanes_set) - 1;
#else
  return __builtin_ctz(lanes_set);
#endif
}

PLX_INLINE bool any(vm m) { return bits(m) != 0; }
constexpr unsigned every_lane = (1u << lanes) - 1;
PLX_INLINE vd clamp(vd x, vd lower, vd upper) { return vmin(vmax(x, lower), upper); }
/// The larger one; NaN in `value` is preserved.
PLX_INLINE vd at_least(double floor, vd value) { return vmax(all(floor), value); }

PLX_INLINE double largest(vd x) {
  double r = lane(x, 0);
  for (int l = 1; l < lanes; ++l) r = lane(x, l) > r ? lane(x, l) : r;
  return r;
}

/// a + b + c, with the same bits for each order of the three and, negated, for negated ones: (largest + smallest) +
/// middle. Six instructions more than two additions; keeps permuted and mirrored problems equal to the last bit.
PLX_INLINE vd sum3(vd a, vd b, vd c) {
  vd high = vmax(a, b), low = vmin(a, b);
  vd middle = vmax(low, vmin(high, c));
  return (vmax(high, c) + vmin(low, c)) + middle;
}

#if !defined(PLX_HYDRO_ONE_LANE)
/// Transposes the lanes x lanes matrix with rows from[r * from_stride] into rows to[r * to_stride].
PLX_INLINE void transpose(const double* from, std::ptrdiff_t from_stride, double* to, std::ptrdiff_t to_stride) {
  vd a[lanes];
  for (int r = 0; r < lanes; ++r) a[r] = load(from + r * from_stride);
  vd b[lanes];
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
  for (int r = 0; r < 8; r += 2) {
    b[r] = _mm512_unpacklo_pd(a[r], a[r + 1]);
    b[r + 1] = _mm512_unpackhi_pd(a[r], a[r + 1]);
  }
  for (int r = 0; r < 8; r += 4)
    for (int s = 0; s < 2; ++s) {
      a[r + s] = _mm512_shuffle_f64x2(b[r + s], b[r + s + 2], 0x88);      // 128-bit parts 0 2 | 0 2
      a[r + s + 2] = _mm512_shuffle_f64x2(b[r + s], b[r + s + 2], 0xdd);  // parts 1 3 | 1 3
    }
  for (int s = 0; s < 4; ++s) {
    b[s] = _mm512_shuffle_f64x2(a[s], a[s + 4], 0x88);
    b[s + 4] = _mm512_shuffle_f64x2(a[s], a[s + 4], 0xdd);
  }
#elif defined(__AVX2__)
  for (int r = 0; r < 4; r += 2) {
    b[r] = _mm256_unpacklo_pd(a[r], a[r + 1]);
    b[r + 1] = _mm256_unpackhi_pd(a[r], a[r + 1]);
  }
  for (int s = 0; s < 2; ++s) {
    a[s] = _mm256_permute2f128_pd(b[s], b[s + 2], 0x20);
    a[s + 2] = _mm256_permute2f128_pd(b[s], b[s + 2], 0x31);
  }
  for (int s = 0; s < 4; ++s) b[s] = a[s];
#else
  for (int r = 0; r < 2; ++r) b[r] = vd{a[0][r], a[1][r]};
#endif
  for (int r = 0; r < lanes; ++r) store(to + r * to_stride, b[r]);
}
#endif

// ---- x^y, logarithm and cube root per lane. Not those of libm, which differ between instruction sets; the entropy
// tracer needs one power per cell and stage. x^y = 2^(y log2 x) with series whose last terms are below 1e-17; relative
// error below 1e-14 for |y log2 x| < 100.
//
// Cost: a power about 65 instructions and one division for `lanes` values, a cube root 75 and two.

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
