// Fluxes through a face from the states on both sides, `lanes` faces at a time. n is the normal direction; t and b the
// two others. All three solvers use the signal speeds S_L = min(u_L - c_L, u_R - c_R), S_R = max(u_L + c_L, u_R + c_R),
// are symmetric under exchange of the states and of t and b to the last bit, and give F(w, w) = F(w).
//
// Thread safety: pure. Cost: HLLC about 75 instructions, three divisions, two square roots.
// Example: star/hydro/riemann_test.cpp
// Source: Toro (2009), sections 10.3 to 10.5; Davis (1988) for the speeds.
#pragma once

#include "star/hydro/kernel_simd.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

struct face_state {
  vd density, n, t, b, pressure;
};
struct face_flux {
  vd mass, n, t, b, energy;
};
struct face_speeds {
  vd left, right;
};

PLX_INLINE vd total_energy(const face_state& w, double gamma) {
  return w.pressure * all(1.0 / (gamma - 1.0)) + all(0.5) * w.density * (w.n * w.n + (w.t * w.t + w.b * w.b));
}

PLX_INLINE face_speeds signal_speeds(const face_state& l, const face_state& r, double gamma) {
  vd shared = all(gamma) / (l.density * r.density);  // one division for both sound speeds
  vd cl = vsqrt(l.pressure * (shared * r.density));
  vd cr = vsqrt(r.pressure * (shared * l.density));
  return {vmin(l.n - cl, r.n - cr), vmax(l.n + cl, r.n + cr)};
}

/// HLLC. With a contact at rest and equal pressures the flux is exactly (0, p, 0, 0, 0): contacts at rest are
/// preserved.
PLX_INLINE face_flux hllc(const face_state& l, const face_state& r, double gamma) {
  face_speeds s = signal_speeds(l, r, gamma);
  vd ml = l.density * (s.left - l.n), mr = r.density * (s.right - r.n);  // mass flux through the outer waves: ml < 0 <
                                                                         // mr
  vd contact = ((r.pressure - l.pressure) + (ml * l.n - mr * r.n)) / (ml - mr);
  vd star_pressure = all(0.5) * ((l.pressure + ml * (contact - l.n)) + (r.pressure + mr * (contact - r.n)));
  star_pressure = vmax(star_pressure, all(0.0));
  vd zero = all(0.0);
  vm from_right = less(contact, zero);
  face_state w{select(from_right, r.density, l.density), select(from_right, r.n, l.n), select(from_right, r.t, l.t),
               select(from_right, r.b, l.b), select(from_right, r.pressure, l.pressure)};
  vd outer = select(from_right, s.right, s.left), m = select(from_right, mr, ml);
  vm supersonic = either(less(zero, s.left), less(s.right, zero));
  vd speed = select(supersonic, w.n, contact), pressure = select(supersonic, w.pressure, star_pressure);
  vd inverse = all(1.0) / (outer - speed);
  face_flux f;
  f.mass = (m * inverse) * speed;
  f.n = f.mass * speed + pressure;
  f.t = f.mass * w.t;
  f.b = f.mass * w.b;
  vd energy = ((outer - w.n) * total_energy(w, gamma) + (pressure * speed - w.pressure * w.n)) * inverse;
  f.energy = speed * (energy + pressure);
  return f;
}

/// The flux of each conserved variable is average(F_l, F_r, U_l, U_r).
template <class Average>
PLX_INLINE face_flux averaged(const face_state& l, const face_state& r, double gamma, Average average) {
  vd ml = l.density * l.n, mr = r.density * r.n;
  vd el = total_energy(l, gamma), er = total_energy(r, gamma);
  face_flux f;
  f.mass = average(ml, mr, l.density, r.density);
  f.n = average(ml * l.n + l.pressure, mr * r.n + r.pressure, ml, mr);
  f.t = average(ml * l.t, mr * r.t, l.density * l.t, r.density * r.t);
  f.b = average(ml * l.b, mr * r.b, l.density * l.b, r.density * r.b);
  f.energy = average((el + l.pressure) * l.n, (er + r.pressure) * r.n, el, er);
  return f;
}

PLX_INLINE face_flux hll(const face_state& l, const face_state& r, double gamma) {
  face_speeds s = signal_speeds(l, r, gamma);
  vd left = vmin(s.left, all(0.0)), right = vmax(s.right, all(0.0));
  vd inverse = all(1.0) / (right - left), product = left * right;
  return averaged(
      l, r, gamma, [&](vd fl, vd fr, vd ul, vd ur) __attribute__((always_inline)) {
        return ((right * fl - left * fr) + product * (ur - ul)) * inverse;
      });
}

PLX_INLINE face_flux lax_friedrichs(const face_state& l, const face_state& r, double gamma) {
  face_speeds s = signal_speeds(l, r, gamma);
  vd speed = vmax(-s.left, s.right);
  return averaged(
      l, r, gamma, [&](vd fl, vd fr, vd ul, vd ur) __attribute__((always_inline)) {
        return all(0.5) * ((fl + fr) - speed * (ur - ul));
      });
}

template <riemann_solver solver>
PLX_INLINE face_flux solve(const face_state& l, const face_state& r, double gamma) {
  if constexpr (solver == riemann_solver::hllc) return hllc(l, r, gamma);
  if constexpr (solver == riemann_solver::hll) return hll(l, r, gamma);
  if constexpr (solver == riemann_solver::lax_friedrichs) return lax_friedrichs(l, r, gamma);
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
