// The equation of state in the kernels: a cold curve (the state at zero temperature) and an ideal thermal part,
//   p = P_c(rho) + (gamma - 1) (e - E_c(rho)),   c^2 = dP_c/drho + gamma (p - P_c) / rho,
// with e the internal energy per volume and P_c = rho dE_c/drho - E_c, as thermodynamics requires. Along an adiabat
// e - E_c is proportional to rho^gamma, so tau = (e - E_c)^(1/gamma) is transported like a density. E_c is convex
// wherever dP_c/drho >= 0; then e - E_c, with e the total minus the kinetic energy, is a concave function of the
// conserved variables, and the states with e > E_c are a convex set.
//
// Energies and pressures are counted such that E_c and P_c vanish with the density: a constant k in E_c + k, P_c - k
// changes no motion. So a stiffened gas, p = (gamma - 1) e - gamma p_inf, is an ideal gas here: its energies are
// counted from that at rest with pressure -p_inf, and its pressures, from -p_inf, are positive. class equation_of_state
// (star/hydro/state.hpp) converts.
//
// Kernels get a gas_law<curve> as template argument and the cold values of each density from at(); a new equation of
// state of this family is a new curve and a case in with_eos(), its kind and constants (parameters.hpp), its name
// (state.cpp) and its options (options.cpp). Without a curve all of it costs nothing.
// radiating_gas, which is not of this family, has the same functions.
//
// Thread safety: pure. Cost: without a curve 1 to 3 instructions per function; degenerate_electrons::at about 200 for
// `lanes` densities.
// Example: star/hydro/test/eos_test.cpp
// Source: Harlow & Amsden (1971), LA-4700, for the stiffened gas; Chandrasekhar (1939), An Introduction to the Study of
// Stellar Structure, chapter X, for degenerate electrons.
#pragma once

#include "star/hydro/kernel/kernel_simd.hpp"

namespace plx::star::PLX_HYDRO_ISA {

namespace {

// ---- an ideal gas and the radiation that is in equilibrium with it, of one temperature T:
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
// Cost for `lanes` cells: T two square roots and six divisions; a tracer also two logarithms and an exponential; its
// inverse six logarithms, an exponential and a cube root.
// Source: Mihalas & Mihalas (1984), Foundations of Radiation Hydrodynamics, section 71; Fritsch, Shafer & Crowley
// (1973), Commun. ACM 16, 123, for v.

/// The functions of gas_law, with the same requirements.
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

/// Ideal and stiffened gases.
struct no_cold_curve {
  static constexpr bool present = false;
  struct values {};
  PLX_INLINE explicit no_cold_curve(const eos_parameters&) {}
  PLX_INLINE values at(vd) const { return {}; }
};

/// Electrons at zero temperature: P_c = A (x (2 x^2 - 3) sqrt(x^2 + 1) + 3 asinh x), x = (rho / B)^(1/3), and E_c = 8 A
/// x^3 (sqrt(x^2 + 1) - 1) - P_c.
struct degenerate_electrons {
  static constexpr bool present = true;
  struct values {
    vd energy, pressure;
    vd stiffness;  ///< rho dP_c/drho
  };
  double a, inverse_b;

  PLX_INLINE explicit degenerate_electrons(const eos_parameters& p)
      : a(p.electron_pressure), inverse_b(1.0 / p.electron_density) {}

  PLX_INLINE values at(vd density) const { return values_at(a, inverse_b, density); }

 private:
  /// Densities that are not positive count as almost 0.
#if defined(PLX_HYDRO_ONE_LANE)
  PLX_INLINE
#else
  PLX_NOINLINE
#endif
  static values values_at(double a, double inverse_b, vd density) {
    const vd one = all(1.0), x3 = at_least(1e-250, density * all(inverse_b));
    const vd x = cube_root(x3), x2 = x * x, x5 = x3 * x2, root = vsqrt(one + x2);
    const vd pressure = pressure_of(x, x2, x5, root);
    const vd energy = all(8.0) * x5 / (one + root) - pressure;
    return {all(a) * energy, all(a) * pressure, all(a * (8.0 / 3.0)) * x5 / root};
  }

  /// The Taylor series below x = 1/2, where the terms of the closed form cancel.
  PLX_INLINE static vd pressure_of(vd x, vd x2, vd x5, vd root) {
    const vm small = less(x2, all(0.25));
    vd result = x * (all(2.0) * x2 - all(3.0)) * root + all(3.0) * logarithm(x + root);
    if (any(small)) result = select(small, x5 * polynomial(series().c, x2), result);
    return result;
  }
  /// 8 binomial(-1/2, k) / (2 k + 5): the integral of 8 x^4 / sqrt(1 + x^2) by powers of x^2.
  struct coefficients {
    double c[24];
  };
  PLX_DEVICE static constexpr coefficients series() {
    coefficients s{};
    double binomial = 1.0;
    for (int k = 0; k < 24; ++k) {
      s.c[k] = 8.0 * binomial / (2 * k + 5);
      binomial *= -(k + 0.5) / (k + 1);
    }
    return s;
  }
};

template <class Curve>
struct gas_law {
  static constexpr bool has_curve = Curve::present;
  static constexpr bool tracer_has_density = false;  ///< the thermal energy of a tracer depends on the density
  using cold = typename Curve::values;

  double gamma;
  Curve curve;

  PLX_INLINE explicit gas_law(const eos_parameters& p) : gamma(p.gamma), curve(p) {}

  /// The cold values that all functions below require.
  PLX_INLINE cold at(vd density) const { return curve.at(density); }
  PLX_INLINE static cold choose(vm m, const cold& a, const cold& b) {
    if constexpr (has_curve)
      return {select(m, a.energy, b.energy), select(m, a.pressure, b.pressure), select(m, a.stiffness, b.stiffness)};
    else
      return {};
  }

  // ---- energies, per volume. The thermal energy is e - E_c.
  PLX_INLINE static vd thermal_energy(vd e, const cold& c) {
    if constexpr (has_curve) return e - c.energy;
    return e;
  }
  PLX_INLINE static vd internal_energy_of_thermal(vd thermal, const cold& c) {
    if constexpr (has_curve) return thermal + c.energy;
    return thermal;
  }
  /// e - V E_c(rho / V) of mass, energy and volume: the thermal energy of a part of a cell.
  PLX_INLINE vd thermal_energy_of_part(vd e, vd mass, vd volume) const {
    if constexpr (has_curve) {
      volume = at_least(1e-300, volume);
      return e - volume * curve.at(mass / volume).energy;
    }
    return e;
  }
  /// A multiplication, for faces. States with p < P_c, which separate reconstructions of p and rho can give, count as
  /// cold.
  PLX_INLINE vd internal_energy(vd p, const cold& c) const {
    return internal_energy_of_thermal(thermal_pressure(p, c) * all(1.0 / (gamma - 1.0)), c);
  }
  /// The thermal energy of a part of a thermal pressure times a weight.
  PLX_INLINE vd thermal_energy_of(double part, vd weight, vd p, const cold& c) const {
    return all(part / (gamma - 1.0)) * (weight * thermal_pressure(p, c));
  }
  /// The least thermal energy that a floor of the thermal pressure permits.
  PLX_INLINE vd least_thermal_energy(double pressure_floor, const cold&) const {
    return all(pressure_floor / (gamma - 1.0));
  }

  // ---- pressures
  PLX_INLINE vd pressure(vd thermal, const cold& c) const {
    if constexpr (has_curve) return c.pressure + all(gamma - 1.0) * thermal;
    return all(gamma - 1.0) * thermal;
  }
  /// That of the thermal motion of the gas.
  PLX_INLINE vd gas_pressure(vd thermal, const cold&) const { return all(gamma - 1.0) * thermal; }
  /// p - P_c, not negative.
  PLX_INLINE static vd thermal_pressure(vd p, const cold& c) {
    if constexpr (has_curve) return at_least(0.0, p - c.pressure);
    return p;
  }
  /// p, raised to a thermal pressure of at least `floor`.
  PLX_INLINE static vd at_least_pressure(double floor, vd p, const cold& c) {
    if constexpr (has_curve) return vmax(all(floor) + c.pressure, p);
    return at_least(floor, p);
  }
  /// A bound on the change of the thermal pressure between two states if p and rho change on their own.
  PLX_INLINE static vd thermal_difference(vd pa, const cold& a, vd pb, const cold& b) {
    if constexpr (has_curve) return vabs(pb - pa) + vabs(b.pressure - a.pressure);
    return vabs(pb - pa);
  }

  // ---- the entropy tracer
  PLX_INLINE vd tracer(vd thermal, const cold&) const { return power(thermal, all(1.0 / gamma)); }
  PLX_INLINE vd thermal_energy_of_tracer(vd tracer, const cold&) const { return power(tracer, all(gamma)); }

  // ---- sound. rho c^2 = gamma times this pressure.
  PLX_INLINE vd acoustic_pressure(vd p, const cold& c) const {
    if constexpr (has_curve) return thermal_pressure(p, c) + all(1.0 / gamma) * c.stiffness;
    return p;
  }
  /// rho c^2 of an acoustic pressure, times a part and a weight.
  PLX_INLINE vd bulk_modulus(double part, vd weight, vd acoustic) const {
    return all(part * gamma) * weight * acoustic;
  }
  PLX_INLINE vd bulk_modulus_of_thermal(vd thermal, const cold& c) const {
    const vd ideal = all(gamma * (gamma - 1.0)) * thermal;
    if constexpr (has_curve) return ideal + c.stiffness;
    return ideal;
  }
};

// ---- sound, for each of the laws

template <class Eos>
PLX_INLINE vd sound_speed(const Eos& eos, vd density, vd p, const typename Eos::cold& c) {
  return vsqrt(all(eos.gamma) * eos.acoustic_pressure(p, c) / density);
}

struct sound_pair {
  vd left, right;
};
/// c^2 on both sides of a face with one division; `product` of the densities.
template <class Eos>
PLX_INLINE sound_pair sound_squared(const Eos& eos, vd product, vd rho_l, vd p_l, const typename Eos::cold& l, vd rho_r,
                                    vd p_r, const typename Eos::cold& r) {
  const vd shared = all(eos.gamma) / product;
  return {eos.acoustic_pressure(p_l, l) * (shared * rho_r), eos.acoustic_pressure(p_r, r) * (shared * rho_l)};
}

using ideal_gas = gas_law<no_cold_curve>;
using white_dwarf_gas = gas_law<degenerate_electrons>;

/// Calls f.operator()<gas law>() with that of a kind.
template <class F>
auto with_eos(eos_kind kind, F&& f) {
  switch (kind) {
    case eos_kind::white_dwarf:
      return f.template operator()<white_dwarf_gas>();
    case eos_kind::radiation:
      return f.template operator()<radiating_gas>();
    case eos_kind::ideal:
    case eos_kind::stiffened:
      break;
  }
  return f.template operator()<ideal_gas>();
}

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
