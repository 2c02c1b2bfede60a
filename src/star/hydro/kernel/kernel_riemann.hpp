// Fluxes through a face from the states on both sides, `lanes` faces at a time. n is the normal direction; t and b the
// two others. All solvers are symmetric under exchange of the states and of t and b to the last bit, and give F(w, w) =
// F(w).
//
// Signal speeds: HLLC takes S_L = min(u_L - c_L, u - d), S_R = max(u_R + c_R, u + d), with u and d the means of
// Einfeldt with Roe's weights; HLL and Lax-Friedrichs take S_L = min(u_L - c_L, u_R - c_R), S_R = max(u_L + c_L, u_R +
// c_R), with which HLL is the central-upwind flux.
//
// Thread safety: pure. Cost: HLLC about 95 instructions, four divisions, four square roots; HLLC-LM 150.
// Example: star/hydro/test/riemann_test.cpp
// Source: Toro (2009), sections 10.3 to 10.5; Einfeldt (1988), Batten et al. (1997) and Davis (1988) for the speeds;
// Fleischmann, Adami & Adams (2020), J. Comput. Phys. 423, 109762, for HLLC-LM.
#pragma once

#include "star/hydro/eos.hpp"

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

/// The velocity of a mesh that turns about the z axis.
struct mesh_velocity {
  vd x, y;
};
PLX_INLINE mesh_velocity velocity_of_mesh(double omega, vd x, vd y) { return {all(-omega) * y, all(omega) * x}; }

/// The fluxes through a face across `axis` that moves with the mesh, of momentum and energy in the inertial frame, from
/// those in the frame of the face.
PLX_INLINE face_flux in_inertial_frame(face_flux f, int axis, const mesh_velocity& w) {
  vd x = axis == 0 ? f.n : axis == 1 ? f.b : f.t, y = axis == 0 ? f.t : axis == 1 ? f.n : f.b;
  f.energy = f.energy + ((w.x * x + w.y * y) + (all(0.5) * (w.x * w.x + w.y * w.y)) * f.mass);
  x = x + w.x * f.mass, y = y + w.y * f.mass;
  (axis == 0 ? f.n : axis == 1 ? f.b : f.t) = x;
  (axis == 0 ? f.t : axis == 1 ? f.n : f.b) = y;
  return f;
}

/// The work of gravity on the gas that flows through a face, for each of the two cells. Per time and area.
struct face_work {
  vd below, above;
};

/// Divides the work of gravity at a face between the two cells so that the sum of a cell's shares is the product of its
/// mean momentum and its acceleration to fourth order (docs/methods.md); neither share has the sign opposite to the
/// sum. momentum_change: from the cell below to that above. phi: of four cells across the face; with NaN in phi[0] or
/// phi[3] the shares are equal.
PLX_INLINE face_work work_of(vd mass_flux, vd momentum_change, const vd (&phi)[4]) {
  const vd zero = all(0.0), difference = phi[2] - phi[1], half = (all(0.5) * mass_flux) * difference;
  const vd lower = difference - (phi[1] - phi[0]), upper = (phi[3] - phi[2]) - difference;
  const vm valid = less(zero, lower * upper);
  const vd curvature = select(less(vabs(lower), vabs(upper)), lower, upper);
  const vd moved =
      momentum_change * difference * all(1.0 / 12) + select(valid, mass_flux * curvature, zero) * all(1.0 / 6);
  const vd most = vabs(half);
  const vd exchange = select(less((phi[0] + phi[3]) * zero, all(1.0)), clamp(moved, zero - most, most), zero);
  return {half - exchange, half + exchange};
}

/// `c`: the cold values of each side, eos.at(density), here and below.
template <class Eos>
PLX_INLINE vd total_energy(const face_state& w, const Eos& eos, const typename Eos::cold& c) {
  return eos.internal_energy(w.pressure, c) + all(0.5) * w.density * (w.n * w.n + (w.t * w.t + w.b * w.b));
}

/// The speeds of sound from their squares. The sum is the square itself if that is above 2e-284; two states at rest
/// whose pressure is 0 (hydro.pressure_floor = 0) get speeds that differ, by which the solvers divide.
PLX_INLINE face_speeds sounds_of(const sound_pair& squares) {
  const vd least = all(1e-300);
  return {vsqrt(squares.left + least), vsqrt(squares.right + least)};
}

/// Davis (1988).
template <class Eos>
PLX_INLINE face_speeds signal_speeds(const face_state& l, const face_state& r, const Eos& eos,
                                     const typename Eos::cold& cold_l, const typename Eos::cold& cold_r) {
  const auto c2 =
      sound_squared(eos, l.density * r.density, l.density, l.pressure, cold_l, r.density, r.pressure, cold_r);
  const face_speeds c = sounds_of(c2);
  return {vmin(l.n - c.left, r.n - c.right), vmax(l.n + c.left, r.n + c.right)};
}

/// Einfeldt (1988); Toro (2009), section 10.5: weights sqrt(rho) and the mean d^2 = mean(c^2) + sqrt(rho_L rho_R) / 2 /
/// (sqrt(rho_L) + sqrt(rho_R))^2 (u_R - u_L)^2. `sound`: the speeds of sound of both sides.
template <class Eos>
PLX_INLINE face_speeds einfeldt_speeds(const face_state& l, const face_state& r, const Eos& eos,
                                       const typename Eos::cold& cold_l, const typename Eos::cold& cold_r,
                                       face_speeds& sound) {
  vd product = l.density * r.density;
  const auto c2 = sound_squared(eos, product, l.density, l.pressure, cold_l, r.density, r.pressure, cold_r);
  sound = sounds_of(c2);
  vd mean = vsqrt(product), jump = r.n - l.n;
  vd wl = l.density + mean, wr = r.density + mean;  // (sqrt(rho_L) + sqrt(rho_R)) times sqrt(rho_L), sqrt(rho_R)
  vd inverse = all(1.0) / (wl + wr);
  vd u = (wl * l.n + wr * r.n) * inverse;
  vd d = vsqrt(((wl * c2.left + wr * c2.right) + all(0.5) * mean * (jump * jump)) * inverse);
  return {vmin(l.n - sound.left, u - d), vmax(r.n + sound.right, u + d)};
}

/// One side of HLLC's fan: the flux between the outer wave of speed `outer` and the contact. `m`: the mass flux through
/// the outer wave; `total`: the total energy of w. With `speed` and `pressure` those of w itself it is the flux of w.
PLX_INLINE face_flux flux_in_fan(const face_state& w, vd total, vd outer, vd m, vd speed, vd pressure) {
  vd inverse = all(1.0) / (outer - speed);
  face_flux f;
  f.mass = (m * inverse) * speed;
  f.n = f.mass * speed + pressure;
  f.t = f.mass * w.t;
  f.b = f.mass * w.b;
  vd energy = ((outer - w.n) * total + (pressure * speed - w.pressure * w.n)) * inverse;
  f.energy = speed * (energy + pressure);
  return f;
}

PLX_INLINE face_flux flux_of(const face_state& w, vd total) {
  vd mass = w.density * w.n;
  return {mass, mass * w.n + w.pressure, mass * w.t, mass * w.b, (total + w.pressure) * w.n};
}

/// The part, 0 to 1, of the jumps across the outer waves that HLLC-LM keeps as dissipation: all of them from a Mach
/// number of 0.1 on, none in flow along the face. A cubic with the end values and the flat end of the published sine.
PLX_INLINE vd kept_at_low_mach(const face_state& l, const face_state& r, const face_speeds& sound) {
  vd mach = vmax(vabs(l.n) / sound.left, vabs(r.n) / sound.right);
  vd x = vmin(all(10.0) * mach, all(1.0));
  return all(0.5) * x * (all(3.0) - x * x);
}

/// HLLC. With a contact at rest and equal pressures the flux is exactly (0, p, 0, 0, 0): contacts at rest are
/// preserved. `low_mach`: HLLC-LM, with less dissipation of sound at low Mach numbers: of flow along a strong shock
/// that is aligned with the grid in particular, where HLLC's feeds the carbuncle.
template <bool low_mach, class Eos>
PLX_INLINE face_flux hllc(const face_state& l, const face_state& r, const Eos& eos) {
  const typename Eos::cold cold_l = eos.at(l.density), cold_r = eos.at(r.density);
  face_speeds sound;
  face_speeds s = einfeldt_speeds(l, r, eos, cold_l, cold_r, sound);
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
  face_flux f = flux_in_fan(w, total_energy(w, eos, eos.choose(from_right, cold_r, cold_l)), outer, m, speed, pressure);
  if constexpr (low_mach) {
    const vd kept = select(supersonic, all(1.0), kept_at_low_mach(l, r, sound));
    const vm less_than_all = less(kept, all(1.0));
    if (!any(less_than_all)) return f;
    const vd el = total_energy(l, eos, cold_l), er = total_energy(r, eos, cold_r);
    const face_flux fl = flux_of(l, el), fr = flux_of(r, er);
    const face_flux gl = flux_in_fan(l, el, s.left, ml, contact, star_pressure);
    const face_flux gr = flux_in_fan(r, er, s.right, mr, contact, star_pressure);
    const vd half = all(0.5) * (all(1.0) - kept);
    auto reduced = [&](vd flux, vd at_l, vd star_l, vd at_r, vd star_r) __attribute__((always_inline)) {
      return select(less_than_all, flux - half * ((star_l - at_l) + (star_r - at_r)), flux);
    };
    f.mass = reduced(f.mass, fl.mass, gl.mass, fr.mass, gr.mass);
    f.n = reduced(f.n, fl.n, gl.n, fr.n, gr.n);
    f.t = reduced(f.t, fl.t, gl.t, fr.t, gr.t);
    f.b = reduced(f.b, fl.b, gl.b, fr.b, gr.b);
    f.energy = reduced(f.energy, fl.energy, gl.energy, fr.energy, gr.energy);
  }
  return f;
}

/// The flux of each conserved variable is average(F_l, F_r, U_l, U_r).
template <class Eos, class Average>
PLX_INLINE face_flux averaged(const face_state& l, const face_state& r, const Eos& eos,
                              const typename Eos::cold& cold_l, const typename Eos::cold& cold_r, Average average) {
  vd ml = l.density * l.n, mr = r.density * r.n;
  vd el = total_energy(l, eos, cold_l), er = total_energy(r, eos, cold_r);
  face_flux f;
  f.mass = average(ml, mr, l.density, r.density);
  f.n = average(ml * l.n + l.pressure, mr * r.n + r.pressure, ml, mr);
  f.t = average(ml * l.t, mr * r.t, l.density * l.t, r.density * r.t);
  f.b = average(ml * l.b, mr * r.b, l.density * l.b, r.density * r.b);
  f.energy = average((el + l.pressure) * l.n, (er + r.pressure) * r.n, el, er);
  return f;
}

template <class Eos>
PLX_INLINE face_flux hll(const face_state& l, const face_state& r, const Eos& eos) {
  const typename Eos::cold cold_l = eos.at(l.density), cold_r = eos.at(r.density);
  face_speeds s = signal_speeds(l, r, eos, cold_l, cold_r);
  vd left = vmin(s.left, all(0.0)), right = vmax(s.right, all(0.0));
  vd inverse = all(1.0) / (right - left), product = left * right;
  return averaged(
      l, r, eos, cold_l, cold_r, [&](vd fl, vd fr, vd ul, vd ur) __attribute__((always_inline)) {
        return ((right * fl - left * fr) + product * (ur - ul)) * inverse;
      });
}

template <class Eos>
PLX_INLINE face_flux lax_friedrichs(const face_state& l, const face_state& r, const Eos& eos) {
  const typename Eos::cold cold_l = eos.at(l.density), cold_r = eos.at(r.density);
  face_speeds s = signal_speeds(l, r, eos, cold_l, cold_r);
  vd speed = vmax(-s.left, s.right);
  return averaged(
      l, r, eos, cold_l, cold_r, [&](vd fl, vd fr, vd ul, vd ur) __attribute__((always_inline)) {
        return all(0.5) * ((fl + fr) - speed * (ur - ul));
      });
}

template <riemann_solver solver, class Eos>
PLX_INLINE face_flux solve(const face_state& l, const face_state& r, const Eos& eos) {
  if constexpr (solver == riemann_solver::hllc) return hllc<false>(l, r, eos);
  if constexpr (solver == riemann_solver::hllc_lm) return hllc<true>(l, r, eos);
  if constexpr (solver == riemann_solver::hll) return hll(l, r, eos);
  if constexpr (solver == riemann_solver::lax_friedrichs) return lax_friedrichs(l, r, eos);
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
