// Positive densities and internal energies: the flux through a face is moved towards the first-order flux of the two
// cells beside it, as far as their updates require. Faces that need nothing keep their bits.
//
// The update of a cell is a sum over its six faces of w U - r (F - G), divided by sum_axes(|v| + c), with F the flux
// out of the cell through the face, U the cell's conserved average, r = dt / dx sum_axes(|v| + c), and G the momentum
// and energy flux of the cell's own pressure, which cancels between opposite faces. The weights w = max(v_out, 0) + c /
// 2 add up to sum_axes(|v| + c), so the update is a mean of the six remainders. If each remainder has a positive
// density and internal energy, so has the update, because such states are a convex set; and so has each Runge-Kutta
// stage, which is a mean of updates. In uniform flow this holds up to a Courant number of 1, so the limiter does not
// act in smooth flow.
//
// With a cold curve (star/hydro/eos.hpp) the thermal energy takes the place of the internal energy: E - |m|^2 / (2 rho)
// - V E_c(rho / V) of the remainder, where its volume V = w - r v_out moves with the gas of the cell; these volumes add
// up to that of the cell too. The states are a convex set for every convex E_c.
//
// Both cells of a face are in both blocks beside it, so both compute the same flux.
//
// Thread safety: pure. Cost: 20 instructions per cell, 65 per face; three times as many where it acts.
// Example: star/hydro/test/positivity_test.cpp
// Source: Hu, Adams & Shu (2013), J. Comput. Phys. 242, 169, with shares of the faces by the velocity; Zhang & Shu
// (2010), J. Comput. Phys. 229, 8918, for the internal energy.
#pragma once

#include "star/hydro/kernel/kernel_riemann.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// The part of a cell's density and thermal energy that must remain of its share for a face.
constexpr double least_remainder = 1e-3;

/// A cell beside a face: primitive averages with velocities along the face's normal and tangents.
template <class Eos>
struct cell_average {
  face_state w;
  typename Eos::cold cold;
  vd energy;      ///< total, per volume
  vd half_sound;  ///< about half the speed of sound
  vd rate;        ///< dt / dx sum_axes(|v| + 2 half_sound)
};

/// sqrt(p / rho) to 6 %, by halving the difference of the logarithms that the bits of positive numbers are to about
/// that accuracy. The weights need no better one, and it takes three instructions instead of a division and a square
/// root.
PLX_INLINE vd about_sqrt_of_ratio(vd p, vd rho) {
  return as_double((as_bits(p) + (all_bits(0x7fe0000000000000ull) - as_bits(rho))) >> 1);
}

/// `step` is dt / dx.
template <class Eos>
PLX_INLINE cell_average<Eos> average_of(const face_state& w, const Eos& eos, double step) {
  const typename Eos::cold cold = eos.at(w.density);
  vd half_sound =
      about_sqrt_of_ratio(eos.bulk_modulus(0.25, all(1.0), eos.acoustic_pressure(w.pressure, cold)), w.density);
  vd speeds = (vabs(w.n) + (vabs(w.t) + vabs(w.b))) + all(6.0) * half_sound;
  return {w, cold, total_energy(w, eos, cold), half_sound, all(step) * speeds};
}

/// The part of a cell's share for a face that remains after a flux, in conserved variables.
struct remainder {
  vd density, n, t, b, energy, volume;
  PLX_INLINE vd momentum2() const { return n * n + (t * t + b * b); }
};

/// The weight of a face of a cell; `outward` is the velocity out of the cell.
template <class Eos>
PLX_INLINE vd weight_of(const cell_average<Eos>& c, vd outward) {
  return vmax(outward, all(0.0)) + c.half_sound;
}

/// `rate`: that of the cell, negated for the cell above the face.
template <class Eos>
PLX_INLINE remainder remains(const cell_average<Eos>& c, vd weight, vd rate, const face_flux& f) {
  vd mass = weight * c.w.density;
  return {mass - rate * f.mass,
          mass * c.w.n - rate * (f.n - c.w.pressure),
          mass * c.w.t - rate * f.t,
          mass * c.w.b - rate * f.b,
          weight * c.energy - rate * (f.energy - c.w.pressure * c.w.n),
          weight - rate * c.w.n};
}

/// Lanes whose remainder has too little density or thermal energy.
template <class Eos>
PLX_INLINE vm too_small(const remainder& r, const cell_average<Eos>& c, vd weight, const Eos& eos) {
  vd energy = eos.thermal_energy_of_part(r.energy, r.density, r.volume) -
              eos.thermal_energy_of(least_remainder, weight, c.w.pressure, c.cold);
  return either(less(r.density, all(least_remainder) * (weight * c.w.density)),
                less(energy * r.density, all(0.5) * r.momentum2()));
}

PLX_INLINE face_flux between(const face_flux& from, const face_flux& to, vd share) {
  return {from.mass + share * (to.mass - from.mass), from.n + share * (to.n - from.n), from.t + share * (to.t - from.t),
          from.b + share * (to.b - from.b), from.energy + share * (to.energy - from.energy)};
}

/// The largest share of `high` in the flux, the rest being `low`, that leaves enough density in the cell.
template <class Eos>
PLX_INLINE vd share_by_density(const cell_average<Eos>& c, vd weight, vd rate, const face_flux& low,
                               const face_flux& high) {
  vd mass = weight * c.w.density, room = all(1.0 - least_remainder) * mass - rate * low.mass;
  vd need = rate * (high.mass - low.mass);
  vd zero = all(0.0), one = all(1.0);
  return select(less(room, need), clamp(room / select(less(zero, need), need, one), zero, one), one);
}

/// The same for the thermal energy. Requires: enough density with both fluxes; the thermal energy is concave along the
/// line between them, so the linear bound is safe.
template <class Eos>
PLX_INLINE vd share_by_energy(const cell_average<Eos>& c, vd weight, vd rate, const Eos& eos, const face_flux& low,
                              const face_flux& high) {
  auto thermal = [&](const face_flux& f) __attribute__((always_inline)) {
    remainder r = remains(c, weight, rate, f);
    return eos.thermal_energy_of_part(r.energy - all(0.5) * r.momentum2() / at_least(1e-300, r.density), r.density,
                                      r.volume);
  };
  vd least = eos.thermal_energy_of(least_remainder, weight, c.w.pressure, c.cold);
  vd at_low = thermal(low), at_high = thermal(high), zero = all(0.0), one = all(1.0);
  vd drop = at_low - at_high;
  return select(less(at_high, least), clamp((at_low - least) / select(less(zero, drop), drop, one), zero, one), one);
}

/// Lanes in which the two cells differ by more than a twentieth. With PPM and PLM, whose values at the face lie between
/// the two averages, only those need to be examined at Courant numbers up to 0.9. A quarter of the cost of
/// needs_limit().
template <class Eos>
PLX_INLINE vm differ_much(const face_state& a, const face_state& b, const Eos& eos) {
  const typename Eos::cold cold_a = eos.at(a.density), cold_b = eos.at(b.density);
  const vd part = all(0.05);
  vd velocity = vabs(b.n - a.n) + (vabs(b.t - a.t) + vabs(b.b - a.b));
  vd acoustic = vmin(eos.acoustic_pressure(a.pressure, cold_a), eos.acoustic_pressure(b.pressure, cold_b));
  vd half_sound = about_sqrt_of_ratio(eos.bulk_modulus(0.25, all(1.0), acoustic), vmax(a.density, b.density));
  return either(
      less(all(0.1) * half_sound, velocity),
      either(less(part * vmin(a.density, b.density), vabs(b.density - a.density)),
             less(part * vmin(eos.thermal_pressure(a.pressure, cold_a), eos.thermal_pressure(b.pressure, cold_b)),
                  eos.thermal_difference(a.pressure, cold_a, b.pressure, cold_b))));
}

/// Lanes in which the flux leaves too little in one of the two cells.
template <class Eos>
PLX_INLINE vm needs_limit(const cell_average<Eos>& below, const cell_average<Eos>& above, const Eos& eos,
                          const face_flux& flux) {
  const vd w0 = weight_of(below, below.w.n), w1 = weight_of(above, -above.w.n);
  return either(too_small(remains(below, w0, below.rate, flux), below, w0, eos),
                too_small(remains(above, w1, -above.rate, flux), above, w1, eos));
}

// On devices a function of its own: rarely called, it would take registers from the loop over faces.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PLX_RARE PLX_NOINLINE
#else
#define PLX_RARE PLX_INLINE
#endif

/// Replaces the flux in the lanes of `bad`.
template <class Eos>
PLX_RARE void limit(const cell_average<Eos>& below, const cell_average<Eos>& above, const Eos& eos, vm bad,
                    face_flux& flux) {
  const vd w0 = weight_of(below, below.w.n), w1 = weight_of(above, -above.w.n), r1 = -above.rate;
  const face_flux low = lax_friedrichs(below.w, above.w, eos);
  vd share = vmin(share_by_density(below, w0, below.rate, low, flux), share_by_density(above, w1, r1, low, flux));
  const face_flux enough = between(low, flux, share);
  share = share * vmin(share_by_energy(below, w0, below.rate, eos, low, enough),
                       share_by_energy(above, w1, r1, eos, low, enough));
  const face_flux limited = between(low, flux, share);
  flux = {select(bad, limited.mass, flux.mass), select(bad, limited.n, flux.n), select(bad, limited.t, flux.t),
          select(bad, limited.b, flux.b), select(bad, limited.energy, flux.energy)};
}

/// Whether faces between similar cells are omitted: with reconstruction between the two averages.
template <reconstruction scheme>
constexpr bool skips_similar = scheme != reconstruction::mp5;

/// Replaces `flux` in lanes that need it; returns these lanes. `step` is dt / dx.
template <bool skip_similar, class Eos>
PLX_INLINE vm keep_positive(const face_state& a, const face_state& b, const Eos& eos, double step, face_flux& flux) {
  vm bad = differ_much(a, b, eos);
  if (skip_similar && !any(bad)) return bad;
  const cell_average<Eos> below = average_of(a, eos, step), above = average_of(b, eos, step);
  const vm needed = needs_limit(below, above, eos, flux);
  bad = skip_similar ? both(bad, needed) : needed;
  if (any(bad)) [[unlikely]]
    limit(below, above, eos, bad, flux);
  return bad;
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
