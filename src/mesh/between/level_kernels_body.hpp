// The loops of prolong.hpp for one instruction set; the including file defines PLX_ISA, its namespace.
//
// Everything here is static and forced inline: for an inline function shared between objects that are compiled for
// different machines, the linker could keep a copy that this machine cannot execute.
//
// The sums are those of mesh/field/symmetric.hpp, on vectors. Thread safety: pure. Cost, example:
// mesh/between/prolong.hpp
#pragma once

#include <cstring>

#include "mesh/between/prolong.hpp"

// Vectors longer than the machine's are passed to inlined functions only, so their calling convention is irrelevant.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace plx::mesh::PLX_ISA {

namespace {

#define PLX_MESH_INLINE [[gnu::always_inline]] static inline

// Vector types of the compiler, which splits them where the machine's are shorter.
using v2 = double __attribute__((vector_size(16)));
using v4 = double __attribute__((vector_size(32)));
using v8 = double __attribute__((vector_size(64)));

template <class V>
PLX_MESH_INLINE V load(const double* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
PLX_MESH_INLINE void store(double* p, const V& v) {
  std::memcpy(p, &v, sizeof v);
}

template <class V>
PLX_MESH_INLINE V smaller_of(const V& a, const V& b) {
  return a < b ? a : b;
}
template <class V>
PLX_MESH_INLINE V larger_of(const V& a, const V& b) {
  return a < b ? b : a;
}

PLX_MESH_INLINE v8 swap_pairs(const v8& v) { return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6); }
PLX_MESH_INLINE v4 swap_pairs(const v4& v) { return __builtin_shufflevector(v, v, 1, 0, 3, 2); }
PLX_MESH_INLINE v2 swap_pairs(const v2& v) { return __builtin_shufflevector(v, v, 1, 0); }

PLX_MESH_INLINE void store_even(double* p, const v8& v) { store(p, __builtin_shufflevector(v, v, 0, 2, 4, 6)); }
PLX_MESH_INLINE void store_even(double* p, const v4& v) { store(p, __builtin_shufflevector(v, v, 0, 2)); }
PLX_MESH_INLINE void store_even(double* p, const v2& v) { *p = v[0]; }

// Means of as many coarse cells as V has pairs. a, b: rows j and j + 1 of plane k; c, d: those of plane k + 1.
template <class V>
PLX_MESH_INLINE void mean_of_rows(const double* a, const double* b, const double* c, const double* d, double* out) {
  const V s = load<V>(a) + swap_pairs(load<V>(d));  // per pair: corners 0 + 7 and 1 + 6
  const V t = load<V>(b) + swap_pairs(load<V>(c));  // 2 + 5 and 3 + 4
  const V lo = smaller_of(s, t), hi = larger_of(s, t);
  const V lo_other = swap_pairs(lo), hi_other = swap_pairs(hi);
  const V outer = smaller_of(lo, lo_other) + larger_of(hi, hi_other);
  const V middle = larger_of(lo, lo_other) + smaller_of(hi, hi_other);
  store_even(out, 0.125 * (outer + middle));
}

void restrict_box(const grid_view& fine, const grid_view& coarse, const cell_box& box, int variables) {
  const int count = box.hi[0] - box.lo[0];
  for (int v = 0; v < variables; ++v)
    for (int k = box.lo[2]; k < box.hi[2]; ++k)
      for (int j = box.lo[1]; j < box.hi[1]; ++j) {
        const double* a = fine.origin + v * fine.volume + 2 * (box.lo[0] + j * fine.row + k * fine.plane);
        const double *b = a + fine.row, *c = a + fine.plane, *d = b + fine.plane;
        double* out = coarse.origin + v * coarse.volume + box.lo[0] + j * coarse.row + k * coarse.plane;
        int i = 0;
        for (; i + 4 <= count; i += 4) mean_of_rows<v8>(a + 2 * i, b + 2 * i, c + 2 * i, d + 2 * i, out + i);
        if (i + 2 <= count) {
          mean_of_rows<v4>(a + 2 * i, b + 2 * i, c + 2 * i, d + 2 * i, out + i);
          i += 2;
        }
        if (i < count) mean_of_rows<v2>(a + 2 * i, b + 2 * i, c + 2 * i, d + 2 * i, out + i);
      }
}

PLX_MESH_INLINE v4 sum3_of(const v4& a, const v4& b, const v4& c) {
  const v4 lo = smaller_of(a, b), hi = larger_of(a, b);
  const v4 middle = smaller_of(larger_of(lo, c), hi);
  return (smaller_of(lo, c) + larger_of(hi, c)) + middle;
}

PLX_MESH_INLINE v4 minmod(const v4& a, const v4& b) {
  const v4 zero{};
  return larger_of(zero, smaller_of(a, b)) + smaller_of(zero, larger_of(a, b));
}

// Offsets of the children from four coarse cells: child 7 is c + t0, its opposite 0 is c - t0; t1: 6 and 1, t2: 5 and
// 2, t3: 3 and 4.
struct offsets4 {
  v4 t0, t1, t2, t3;
};

template <limiter rule>
PLX_MESH_INLINE v4 quarter_slope(const v4& lower, const v4& upper) {
  const v4 m = minmod(lower, upper);
  if constexpr (rule == limiter::minmod) return 0.25 * m;
  return 0.25 * minmod(2.0 * m, 0.5 * (lower + upper));
}

template <limiter rule>
PLX_MESH_INLINE offsets4 offsets_at(const double* c, std::ptrdiff_t row, std::ptrdiff_t plane, const v4& centre) {
  const v4 xl = centre - load<v4>(c - 1), xu = load<v4>(c + 1) - centre;
  const v4 yl = centre - load<v4>(c - row), yu = load<v4>(c + row) - centre;
  const v4 zl = centre - load<v4>(c - plane), zu = load<v4>(c + plane) - centre;
  const v4 x = quarter_slope<rule>(xl, xu), y = quarter_slope<rule>(yl, yu), z = quarter_slope<rule>(zl, zu);
  offsets4 o{sum3_of(x, y, z), sum3_of(-x, y, z), sum3_of(x, -y, z), sum3_of(x, y, -z)};
  if constexpr (rule == limiter::central) {  // scaled back into the range of the cell and its neighbours
    v4 above{}, below{}, most{};
    for (const v4& d : {xl, yl, zl}) above = larger_of(above, -d), below = larger_of(below, d);
    for (const v4& d : {xu, yu, zu}) above = larger_of(above, d), below = larger_of(below, -d);
    for (const v4& t : {o.t0, o.t1, o.t2, o.t3}) most = larger_of(most, larger_of(t, -t));
    const v4 allowed = smaller_of(above, below), one = {1.0, 1.0, 1.0, 1.0};
    const v4 scale = most > allowed ? allowed / most : one;
    o = {o.t0 * scale, o.t1 * scale, o.t2 * scale, o.t3 * scale};
  }
  return o;
}

// Writes fine cells 2i .. 2i + 7 of a row from the children at even and odd positions, those in first <= cell < last.
PLX_MESH_INLINE void write_row(double* row, int i, const v4& even, const v4& odd, int first, int last) {
  // Not one vector of eight: GCC assembles it in memory by scalars, and reading it back stalls.
  const v4 low = __builtin_shufflevector(even, odd, 0, 4, 1, 5), high = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
  if (2 * i >= first && 2 * i + 8 <= last) {
    store(row + 2 * i, low);
    store(row + 2 * i + 4, high);
    return;
  }
  double cells[8];
  store(cells, low);
  store(cells + 4, high);
  for (int n = 0; n < 8; ++n)
    if (2 * i + n >= first && 2 * i + n < last) row[2 * i + n] = cells[n];
}

// Four coarse cells of a row at a time; lanes beyond the box compute with unspecified values and are not written.
template <limiter rule>
void prolong_with(const grid_view& coarse, const grid_view& fine, const cell_box& box) {
  const int x0 = box.lo[0], x1 = box.hi[0];
  for (int k = box.lo[2] >> 1; 2 * k < box.hi[2]; ++k)
    for (int j = box.lo[1] >> 1; 2 * j < box.hi[1]; ++j) {
      const bool lower_j = 2 * j >= box.lo[1], upper_j = 2 * j + 1 < box.hi[1];
      const bool lower_k = 2 * k >= box.lo[2], upper_k = 2 * k + 1 < box.hi[2];
      double* row = fine.origin + 2 * (j * fine.row + k * fine.plane);
      for (int i = x0 >> 1; 2 * i < x1; i += 4) {
        const double* at = coarse.origin + i + j * coarse.row + k * coarse.plane;
        const v4 c = load<v4>(at);
        const offsets4 o = offsets_at<rule>(at, coarse.row, coarse.plane, c);
        if (lower_j && lower_k) write_row(row, i, c - o.t0, c - o.t1, x0, x1);
        if (upper_j && lower_k) write_row(row + fine.row, i, c - o.t2, c + o.t3, x0, x1);
        if (lower_j && upper_k) write_row(row + fine.plane, i, c - o.t3, c + o.t2, x0, x1);
        if (upper_j && upper_k) write_row(row + fine.row + fine.plane, i, c + o.t1, c + o.t0, x0, x1);
      }
    }
}

void prolong_box(const grid_view& coarse, const grid_view& fine, const cell_box& box, limiter rule) {
  if (rule == limiter::minmod)
    prolong_with<limiter::minmod>(coarse, fine, box);
  else
    prolong_with<limiter::central>(coarse, fine, box);
}

#undef PLX_MESH_INLINE

}  // namespace

extern const level_kernels kernels;
const level_kernels kernels{restrict_box, prolong_box};

}  // namespace plx::mesh::PLX_ISA

#pragma GCC diagnostic pop
