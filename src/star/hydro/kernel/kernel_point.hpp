// Scheme `full3d`, the arithmetic: values at two opposite points of a cell's surface from five averages along the axis
// through them (one of 13: along edges, diagonals of faces, diagonals of the cell), and the sum of nine fluxes by
// Simpson's rule. The flux at each point is hll() of kernel_riemann.hpp: with its speeds it is the central-upwind flux.
//
// Values lie between the averages of the two cells of that point on the axis, as in kernel_reconstruct.hpp, so positive
// values stay positive. Sums are symmetric to the last bit under mirrors and permutations of the axes.
//
// Thread safety: pure. Cost: 57 instructions per axis, variable and cell, for `lanes` cells; 26 more with steepening.
// Example: star/hydro/test/reference_full3d_test.cpp
// Source: Colella & Woodward (1984), eqs. 1.6 to 1.17; Kurganov, Noelle & Petrova (2001) for the flux.
#pragma once

#include "star/hydro/kernel/kernel_reconstruct.hpp"
#include "star/hydro/kernel/kernel_riemann.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// The values of a cell with average q[2] at its two points on the axis: towards q[1] (minus), towards q[3] (plus).
struct point_pair {
  vd minus, plus;
};

/// Averages along an axis, their differences d[i] = q[i + 1] - q[i], and half slopes in q[1], q[2], q[3].
struct axis_averages {
  vd q[5], d[4], s[3];
};

PLX_INLINE axis_averages averages_along(const double* q, std::ptrdiff_t axis) {
  axis_averages a;
  for (int i = 0; i < 5; ++i) a.q[i] = load(q + (i - 2) * axis);
  for (int i = 0; i < 4; ++i) a.d[i] = a.q[i + 1] - a.q[i];
  for (int i = 0; i < 3; ++i) a.s[i] = half_slope(a.d[i], a.d[i + 1]);
  return a;
}

/// (q_i + q_{i+d})/2 + (D_i - D_{i+d})/6, D the whole slopes; not yet monotone.
PLX_INLINE point_pair between_cells(const axis_averages& a) {
  const vd half = all(0.5), third = all(1.0 / 3.0);
  return {half * (a.q[1] + a.q[2]) + third * (a.s[0] - a.s[1]), half * (a.q[2] + a.q[3]) + third * (a.s[1] - a.s[2])};
}

PLX_INLINE point_pair monotone(const point_pair& p, vd q) {
  return {monotone(p.minus, q, p.plus), monotone(p.plus, q, p.minus)};
}

PLX_INLINE point_pair reconstruct_point(const double* q, std::ptrdiff_t axis) {
  const axis_averages a = averages_along(q, axis);
  return monotone(between_cells(a), a.q[2]);
}

/// The weight, 0 to 1, of a steeper profile in the density's values: where the second differences change sign across
/// the cell, the jump is not small, and the pressures indicate a contact and not a shock.
template <class Eos>
PLX_INLINE vd contact_share(const axis_averages& rho, const axis_averages& pressure, const Eos& eos) {
  const vd zero = all(0.0), sixth = all(1.0 / 6.0);
  vd jump = rho.d[1] + rho.d[2], pressure_jump = pressure.d[1] + pressure.d[2];
  vd below = rho.d[1] - rho.d[0], above = rho.d[3] - rho.d[2];  // second differences, with the same factor
  vd least = vmin(rho.q[1], rho.q[3]), least_pressure = vmin(pressure.q[1], pressure.q[3]);
  vd third_difference = below - above;
  vd eta = sixth * third_difference / select(less(zero, vabs(jump)), jump, all(1.0));
  eta = clamp(all(20.0) * (eta - all(0.05)), zero, all(1.0));
  vm smooth = not_less(below * above, zero);
  vm small = not_less(all(0.01) * least, vabs(jump));
  vm shock = less(eos.bulk_modulus(0.1, vabs(jump), eos.acoustic_pressure(least_pressure, eos.at(least))),
                  vabs(pressure_jump) * least);
  return select(either(either(smooth, small), shock), zero, eta);
}

/// The density, steepened at contacts. Shapes: rho, pressure: at the cell.
template <class Eos>
PLX_INLINE point_pair reconstruct_density(const double* rho, const double* pressure, std::ptrdiff_t axis,
                                          const Eos& eos) {
  const axis_averages a = averages_along(rho, axis);
  point_pair p = between_cells(a);
  const vd share = contact_share(a, averages_along(pressure, axis), eos);
  p.minus = p.minus + share * ((a.q[1] + a.s[0]) - p.minus);
  p.plus = p.plus + share * ((a.q[3] - a.s[2]) - p.plus);
  return monotone(p, a.q[2]);
}

PLX_INLINE face_flux operator+(const face_flux& a, const face_flux& b) {
  return {a.mass + b.mass, a.n + b.n, a.t + b.t, a.b + b.b, a.energy + b.energy};
}

/// The points of a face that are summed.
enum class face_part : int { edges_a, edges_b, corners, centre };

/// Simpson's rule, part by part, of one component: edges_a gives the sum of the two points on one axis of the face,
/// edges_b adds those on the other one, with their weight of 4; then corners (1), and the centre (16), all over 36.
template <face_part part>
PLX_INLINE vd simpson(vd so_far, vd points) {
  if constexpr (part == face_part::edges_a) return points;
  if constexpr (part == face_part::edges_b) return all(4.0) * (so_far + points);
  if constexpr (part == face_part::corners) return so_far + points;
  if constexpr (part == face_part::centre) return (all(16.0) * points + so_far) * all(1.0 / 36.0);
}

constexpr int points_in(face_part part) { return part == face_part::centre ? 1 : part == face_part::corners ? 4 : 2; }

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
