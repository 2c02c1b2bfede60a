// Values at the faces of each cell from cell averages along one line, `lanes` lines at a time.
//
// Every face value lies between the averages of the two cells of that face, so what is positive stays positive and no
// fall-back is needed: the interface value a = (q0 + q1)/2 + (s0 - s1)/3 differs from the mean by at most a third of
// q1 - q0 (both half slopes have its sign and are not larger), and the clamps below only pull values towards q.
// Every formula is odd in q and symmetric under exchange of the sides: mirrored data give mirrored bits.
//
// Thread safety: pure. Cost: 29 instructions per variable and cell (PPM), for `lanes` cells.
// Example: star/hydro/reconstruct_test.cpp
// Source: Colella & Woodward (1984), eqs. 1.6 to 1.10; van Leer (1977) for the slope.
#pragma once

#include "star/hydro/kernel_simd.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// Half of the monotonized central slope: (dl + dr)/4 limited to |dl| and |dr|, 0 at extrema.
PLX_INLINE vd half_slope(vd dl, vd dr) {
  vd zero = all(0.0);
  vd central = all(0.25) * (dl + dr);
  return vmax(vmin(central, vmin(dl, dr)), zero) + vmin(vmax(central, vmax(dl, dr)), zero);
}

/// Limits the value `a` on one side of a cell with average q so that the parabola is monotone; `other` is the value on
/// the other side: between q and 3 q - 2 other.
PLX_INLINE vd monotone(vd a, vd q, vd other) {
  vd d = q - other;
  vd bound = q + (d + d);
  return clamp(a, vmin(q, bound), vmax(q, bound));
}

/// Faces f = 0..n of a line of n cells. q points at cell 0 and has three ghosts on both sides; cells are q_stride
/// apart. left[f * lanes] is the state on the lower side of face f, right[f * lanes] the one above.
template <reconstruction scheme>
PLX_INLINE void reconstruct_line(const double* q, std::ptrdiff_t q_stride, int n, double* left, double* right) {
  if constexpr (scheme == reconstruction::ppm) {
    vd q0 = load(q - 1 * q_stride), q1 = load(q);  // averages of cells c and c + 1
    vd below = load(q - 2 * q_stride);
    vd d = q0 - below, d1 = q1 - q0;
    vd s0 = half_slope(below - load(q - 3 * q_stride), d), s1 = half_slope(d, d1);
    const vd half = all(0.5), third = all(1.0 / 3.0);
    vd a0 = half * (below + q0) + third * (s0 - s1);  // between cells c - 1 and c
    s0 = s1;
    for (int c = -1; c <= n; ++c) {
      vd q2 = load(q + (c + 2) * q_stride);
      vd d2 = q2 - q1;
      s1 = half_slope(d1, d2);
      vd a1 = half * (q0 + q1) + third * (s0 - s1);
      if (c >= 0) store(right + c * lanes, monotone(a0, q0, a1));
      if (c < n) store(left + (c + 1) * lanes, monotone(a1, q0, a0));
      q0 = q1, q1 = q2, d1 = d2, s0 = s1, a0 = a1;
    }
  } else {
    vd below = load(q - 2 * q_stride), q0 = load(q - q_stride);
    for (int c = -1; c <= n; ++c) {
      vd q1 = load(q + (c + 1) * q_stride);
      vd s = half_slope(q0 - below, q1 - q0);
      if (c >= 0) store(right + c * lanes, clamp(q0 - s, vmin(q0, below), vmax(q0, below)));
      if (c < n) store(left + (c + 1) * lanes, clamp(q0 + s, vmin(q0, q1), vmax(q0, q1)));
      below = q0, q0 = q1;
    }
  }
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
