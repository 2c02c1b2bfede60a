// Reconstruction along a line by one thread: computes what reconstruct_line() computes, one cell at a time, and keeps
// the few values that are still needed in registers. The bits are the same.
//
// Thread safety: values. Cost: kernel_reconstruct.hpp.
// Example: star/device/bodies/stage_body.hpp
#pragma once

#include "star/device/bodies/one_lane.hpp"
#include "star/hydro/kernel/kernel_reconstruct.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// One variable along a line. begin() takes cells -3 .. 0; then each step() takes cell c + 2 and returns both values of
/// cell c, for c = -1, 0, 1, ... Before that step, average() is cell c.
template <reconstruction scheme>
struct line_window;

template <>
struct line_window<reconstruction::ppm> {
  vd q0, q1, d1, s0, a0;

  PLX_INLINE vd average() const { return q0; }
  PLX_INLINE void begin(vd m3, vd m2, vd m1, vd c0) {
    q0 = m1, q1 = c0;
    vd d = m1 - m2;
    d1 = c0 - m1;
    vd below = half_slope(m2 - m3, d);
    s0 = half_slope(d, d1);
    a0 = all(0.5) * (m2 + m1) + all(1.0 / 3.0) * (below - s0);
  }
  template <bool positive>
  PLX_INLINE void step(vd q2, vd& lower, vd& upper) {
    vd d2 = q2 - q1;
    vd s1 = half_slope(d1, d2);
    vd a1 = all(0.5) * (q0 + q1) + all(1.0 / 3.0) * (s0 - s1);
    lower = monotone(a0, q0, a1);
    upper = monotone(a1, q0, a0);
    q0 = q1, q1 = q2, d1 = d2, s0 = s1, a0 = a1;
  }
};

template <>
struct line_window<reconstruction::plm> {
  vd below, q0, q1;

  PLX_INLINE vd average() const { return q0; }
  PLX_INLINE void begin(vd, vd m2, vd m1, vd c0) { below = m2, q0 = m1, q1 = c0; }
  template <bool positive>
  PLX_INLINE void step(vd q2, vd& lower, vd& upper) {
    vd s = half_slope(q0 - below, q1 - q0);
    lower = clamp(q0 - s, vmin(q0, below), vmax(q0, below));
    upper = clamp(q0 + s, vmin(q0, q1), vmax(q0, q1));
    below = q0, q0 = q1, q1 = q2;
  }
};

template <>
struct line_window<reconstruction::mp5> {
  vd w[5];

  PLX_INLINE vd average() const { return w[3]; }
  PLX_INLINE void begin(vd m3, vd m2, vd m1, vd c0) { w[1] = m3, w[2] = m2, w[3] = m1, w[4] = c0; }
  template <bool positive>
  PLX_INLINE void step(vd q2, vd& lower, vd& upper) {
    for (int s = 0; s < 4; ++s) w[s] = w[s + 1];
    w[4] = q2;
    mp5_cell<positive>(w, lower, upper);
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
