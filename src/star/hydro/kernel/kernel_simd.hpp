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

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
