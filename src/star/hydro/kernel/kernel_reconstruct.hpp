// Values at the faces of each cell from cell averages along one line, `lanes` lines at a time.
//
// PPM and PLM: every face value lies between the averages of the two cells of that face, so positive values stay
// positive and no fall-back is needed: the interface value a = (q0 + q1)/2 + (s0 - s1)/3 differs from the mean by at
// most a third of q1 - q0 (both half slopes have its sign and are not larger), and the clamps only move values towards
// q. MP5: fifth order, preserved at smooth extrema; where it is limited, positive variables are kept above a quarter of
// the smaller of the two cells.
// Every formula is odd in q and symmetric under exchange of the two directions: mirrored data give mirrored bits.
//
// Thread safety: pure. Cost: 29 instructions per variable and cell (PPM), for `lanes` cells.
// Example: star/hydro/test/reconstruct_test.cpp
// Source: Colella & Woodward (1984), eqs. 1.6 to 1.10; van Leer (1977) for the slope; Suresh & Huynh (1997) for MP5.
#pragma once

#include "star/hydro/kernel/kernel_simd.hpp"

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

/// The argument nearest to zero if all have one sign, or 0.
PLX_INLINE vd minmod(vd a, vd b) {
  vd zero = all(0.0);
  return vmax(vmin(a, b), zero) + vmin(vmax(a, b), zero);
}
PLX_INLINE vd minmod(vd a, vd b, vd c, vd d) {
  vd zero = all(0.0);
  return vmax(vmin(vmin(a, b), vmin(c, d)), zero) + vmin(vmax(vmax(a, b), vmax(c, d)), zero);
}

/// Differences of averages around a cell, as seen from one of its faces: across that face (near), beyond it (next),
/// across the other face (far), and beyond that one (last), all counted towards the face.
struct differences {
  vd near, next, far, last;
};

/// Face value minus average, fifth order.
PLX_INLINE vd fifth_order(const differences& d) {
  return (all(0.4) * d.near + all(11.0 / 60.0) * d.far) - (all(1.0 / 30.0) * d.last + all(0.05) * d.next);
}

constexpr double mp_steepness = 4.0;

/// Is `value` outside of the interval between 0 and the monotone bound? Otherwise no limiting is needed.
PLX_INLINE vm beyond_monotone(vd value, const differences& d) {
  return less(all(0.0), value * (value - minmod(d.near, all(mp_steepness) * d.far)));
}

/// Suresh & Huynh's limits with their M4 curvature: wide enough for smooth extrema.
PLX_INLINE vd monotonicity_preserving(vd value, const differences& d) {
  vd zero = all(0.0), four = all(4.0), half = all(0.5);
  vd here = d.near - d.far, above = d.next - d.near, below = d.far - d.last;
  vd curvature_near = minmod(four * here - above, four * above - here, here, above);
  vd curvature_far = minmod(four * here - below, four * below - here, here, below);
  vd middle = half * d.near - half * curvature_near, upper = all(mp_steepness) * d.far;
  vd large = half * d.far + all(4.0 / 3.0) * curvature_far;
  vd low = vmax(vmin(vmin(d.near, middle), zero), vmin(vmin(upper, large), zero));
  vd high = vmin(vmax(vmax(d.near, middle), zero), vmax(vmax(upper, large), zero));
  return clamp(value, low, high);
}

/// Both faces of the cell with average q[2]; its neighbours are q[0], q[1], q[3], q[4].
template <bool positive>
PLX_INLINE void mp5_cell(const vd (&q)[5], vd& lower, vd& upper) {
  vd d0 = q[1] - q[0], d1 = q[2] - q[1], d2 = q[3] - q[2], d3 = q[4] - q[3];
  const differences up{d2, d3, d1, d0}, down{-d1, -d0, -d2, -d3};
  vd to_upper = fifth_order(up), to_lower = fifth_order(down);
  vm rough = either(beyond_monotone(to_upper, up), beyond_monotone(to_lower, down));
  if (!any(rough)) [[likely]] {
    upper = q[2] + to_upper, lower = q[2] + to_lower;
    return;
  }
  upper = q[2] + select(beyond_monotone(to_upper, up), monotonicity_preserving(to_upper, up), to_upper);
  lower = q[2] + select(beyond_monotone(to_lower, down), monotonicity_preserving(to_lower, down), to_lower);
  if constexpr (positive) {
    upper = vmax(upper, all(0.25) * vmin(q[2], q[3]));
    lower = vmax(lower, all(0.25) * vmin(q[2], q[1]));
  }
}

template <bool positive>
PLX_INLINE void mp5_line(const double* q, std::ptrdiff_t q_stride, int n, double* left, double* right) {
  vd w[5];
  for (int s = 0; s < 4; ++s) w[s + 1] = load(q + (s - 3) * q_stride);
  for (int c = -1; c <= n; ++c) {
    for (int s = 0; s < 4; ++s) w[s] = w[s + 1];
    w[4] = load(q + (c + 2) * q_stride);
    vd lower, upper;
    mp5_cell<positive>(w, lower, upper);
    if (c >= 0) store(right + c * lanes, lower);
    if (c < n) store(left + (c + 1) * lanes, upper);
  }
}

/// Values at faces f = 0..n of a line of n cells. q points to cell 0 and has three ghost cells at both ends; cells are
/// q_stride apart. left[f * lanes] is the state below face f, right[f * lanes] the one above.
template <reconstruction scheme, bool positive = true>
PLX_INLINE void reconstruct_line(const double* q, std::ptrdiff_t q_stride, int n, double* left, double* right) {
  if constexpr (scheme == reconstruction::mp5) {
    mp5_line<positive>(q, q_stride, n, left, right);
  } else if constexpr (scheme == reconstruction::ppm) {
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
