// An ideal gas and the radiation that is in equilibrium with it, of one temperature T:
//   p = rho R T + a T^4 / 3,   e = rho R T / (gamma - 1) + a T^4,
// with e per volume. R = eos_parameters::gas_constant is Boltzmann's constant over the mean mass of a particle, a =
// eos_parameters::radiation_constant. Radiation moves with the gas: there is no diffusion, no cooling.
//
// T of an energy or a pressure is the root of q T^4 + b T = value, by five steps of Newton's method from an upper
// bound, which converge from above to rounding for every ratio of the terms.
//
// The entropy over R (up to a constant) is gamma / (gamma - 1) L, L = ln(e_g^(1/gamma) / rho) + (gamma - 1) / gamma 4 a
// T^3 / (3 rho R), e_g the energy of the gas alone. The tracer is rho F(L), F(L) = e^L for L < 0, that of an ideal gas
// without radiation, and 1 + L above, which cannot overflow where radiation dominates. L of a tracer gives T with v = 4
// (gamma - 1) a T^3 / (rho R): v + ln v = 3 gamma L + (3 gamma - 4) ln rho + ln(4 a ((gamma - 1) / R)^4).
//
// Thread safety: pure. Cost for `lanes` cells: T two square roots and six divisions; a tracer also two logarithms and
// an exponential; its inverse six logarithms, an exponential and a cube root.
// Example: star/hydro/test/eos_radiation_test.cpp
// Source: Mihalas & Mihalas (1984), Foundations of Radiation Hydrodynamics, section 71; Fritsch, Shafer & Crowley
// (1973), Commun. ACM 16, 123, for v.
#pragma once

#include "star/hydro/kernel/kernel_power.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// The functions of gas_law (eos.hpp), with the same requirements.
struct radiating_gas {
  static constexpr bool tracer_has_density = true;
  /// The values at a density.
  struct cold {
    vd gas;  ///< rho R
  };
  double gamma, r, a;

  PLX_INLINE explicit radiating_gas(const eos_parameters& p)
      : gamma(p.gamma), r(p.gas_constant), a(p.radiation_constant) {}

  /// Densities that are not positive count as almost 0.
  PLX_INLINE cold at(vd density) const { return {all(r) * at_least(1e-250, density)}; }
  PLX_INLINE static cold choose(vm m, const cold& x, const cold& y) { return {select(m, x.gas, y.gas)}; }

  // ---- the temperature
  PLX_INLINE vd temperature_of_energy(vd e, const cold& c) const {
    return root(a, c.gas * all(1.0 / (gamma - 1.0)), e);
  }
  PLX_INLINE vd temperature_of_pressure(vd p, const cold& c) const { return root(a / 3.0, c.gas, p); }

  // ---- energies, per volume. All energy is thermal.
  PLX_INLINE static vd thermal_energy(vd e, const cold&) { return e; }
  PLX_INLINE static vd internal_energy_of_thermal(vd thermal, const cold&) { return thermal; }
  PLX_INLINE static vd thermal_energy_of_part(vd e, vd, vd) { return e; }
  PLX_NOINLINE vd internal_energy(vd p, const cold& c) const { return energy_at(temperature_of_pressure(p, c), c); }
  PLX_INLINE vd thermal_energy_of(double part, vd weight, vd p, const cold& c) const {
    return all(part) * (weight * internal_energy(p, c));
  }
  PLX_INLINE vd least_thermal_energy(double pressure_floor, const cold& c) const {
    return internal_energy(all(pressure_floor), c);
  }

  // ---- pressures
  /// Below 0 for energies below 0.
  PLX_NOINLINE vd pressure(vd thermal, const cold& c) const {
    const vd t = temperature_of_energy(thermal, c);
    return (c.gas * t + radiation_pressure(t)) + all(gamma - 1.0) * vmin(all(0.0), thermal);
  }
  PLX_INLINE vd gas_pressure(vd thermal, const cold& c) const { return c.gas * temperature_of_energy(thermal, c); }
  PLX_INLINE static vd thermal_pressure(vd p, const cold&) { return p; }
  PLX_INLINE static vd at_least_pressure(double floor, vd p, const cold&) { return at_least(floor, p); }
  PLX_INLINE static vd thermal_difference(vd pa, const cold&, vd pb, const cold&) { return vabs(pb - pa); }

  // ---- the entropy tracer
  PLX_NOINLINE vd tracer(vd thermal, const cold& c) const {
    const vd t = temperature_of_energy(thermal, c), rho = c.gas * all(1.0 / r);
    const vd of_gas = all(1.0 / gamma) * logarithm(at_least(1e-250, c.gas * t * all(1.0 / (gamma - 1.0))));
    const vd of_radiation = all(4.0 / 3.0 * (gamma - 1.0) / gamma * a) * (t * t * t) / c.gas;
    const vd l = of_radiation + (of_gas - logarithm(rho));
    return rho * select(less(l, all(0.0)), exponential(l), all(1.0) + l);
  }
  PLX_NOINLINE vd thermal_energy_of_tracer(vd tracer, const cold& c) const {
    const vd rho = c.gas * all(1.0 / r), f = tracer / rho;
    const vd l = select(less(f, all(1.0)), logarithm(at_least(1e-250, f)), f - all(1.0));
    const double s = (gamma - 1.0) / r, s2 = s * s;
    const vd b = all(3.0 * gamma) * l + (all(3.0 * gamma - 4.0) * logarithm(rho) + logarithm(all(4.0 * a * s2 * s2)));
    const vd v = omega(b);
    const vd t = cube_root(at_least(1e-250, v * c.gas * all(1.0 / (4.0 * (gamma - 1.0) * a))));
    return energy_at(t, c);
  }

  // ---- sound. rho c^2 = p_g + (gamma - 1) (p_g + 4 p_r)^2 / (p_g + 12 (gamma - 1) p_r), gamma times this pressure.
  PLX_NOINLINE vd acoustic_pressure(vd p, const cold& c) const { return acoustic_at(temperature_of_pressure(p, c), c); }
  PLX_INLINE vd bulk_modulus(double part, vd weight, vd acoustic) const {
    return all(part * gamma) * weight * acoustic;
  }
  PLX_INLINE vd bulk_modulus_of_thermal(vd thermal, const cold& c) const {
    return all(gamma) * acoustic_at(temperature_of_energy(thermal, c), c);
  }

 private:
  /// T >= 0 with q T^4 + b T = value; 0 for values below 0.
  PLX_NOINLINE static vd root(double q, vd b, vd value) {
    value = at_least(0.0, value);
    vd t = vmin(vsqrt(vsqrt(value * all(1.0 / q))), value / b);
    for (int step = 0; step < 5; ++step) {
      const vd t3 = all(q) * (t * t * t);
      t = (all(3.0) * t3 * t + value) / (all(4.0) * t3 + b);
    }
    return t;
  }
  PLX_INLINE vd radiation_pressure(vd t) const {
    const vd t2 = t * t;
    return all(a / 3.0) * (t2 * t2);
  }
  PLX_INLINE vd energy_at(vd t, const cold& c) const {
    return c.gas * t * all(1.0 / (gamma - 1.0)) + all(3.0) * radiation_pressure(t);
  }
  PLX_INLINE vd acoustic_at(vd t, const cold& c) const {
    const vd gas = c.gas * t, radiation = radiation_pressure(t), both = gas + all(4.0) * radiation;
    const vd heat = at_least(1e-300, gas + all(12.0 * (gamma - 1.0)) * radiation);
    return all(1.0 / gamma) * (gas + all(gamma - 1.0) * (both * both) / heat);
  }
  /// v > 0 with v + ln v = b: two steps of fourth order from a guess within 12 %.
  PLX_INLINE static vd omega(vd b) {
    const vd one = all(1.0), x = exponential(vmin(one, b)), large = vmax(one, b);
    vd v = select(less(b, one), x / (one + all(0.76) * x), large - logarithm(large));
    for (int step = 0; step < 2; ++step) {
      const vd rest = (b - v) - logarithm(v), w = one + v;
      const vd q = all(2.0) * w * (w + all(2.0 / 3.0) * rest);
      v = v + v * (rest / w) * ((q - rest) / (q - all(2.0) * rest));
    }
    return v;
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
