// Conversion of conserved to primitive variables: velocities, pressure (from the tracer where kinetic energy
// dominates), and tracer and partial densities per mass. In order: density, velocity x y z, pressure, tau / rho, X_0,
// X_1, ...
//
// Thread safety: pure. Cost: about 35 instructions and a division for `lanes` cells.
// Example: star/hydro/test/stage_test.cpp
#pragma once

#include "star/hydro/eos.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

constexpr int i_velocity = i_momentum, i_pressure = i_energy;

/// (rho |v|^2 / 2) from momentum and 1 / rho.
PLX_INLINE vd kinetic_energy(vd mx, vd my, vd mz, vd inverse_density) {
  return all(0.5) * sum3(mx * mx, my * my, mz * mz) * inverse_density;
}

/// Thermal energy per volume: total minus kinetic and cold, or from the tracer.
template <class Eos>
PLX_INLINE vd thermal_energy(const hydro_parameters& p, const Eos& eos, const typename Eos::cold& c, vd total,
                             vd kinetic, vd tracer) {
  vd e = eos.thermal_energy(total - kinetic, c);
  vm cold = less(e, all(p.dual_energy_switch) * total);
  if (any(cold)) [[unlikely]]
    e = select(cold, eos.thermal_energy_of_tracer(tracer, c), e);
  return e;
}

/// Converts `lanes` cells at u[v * u_stride] to w[v * w_stride]; returns true if a floor was needed.
template <class Eos>
PLX_INLINE bool to_primitive(const hydro_parameters& p, int n_var, const double* u, std::ptrdiff_t u_stride, double* w,
                             std::ptrdiff_t w_stride) {
  const Eos eos(p.eos);
  vd density_in = load(u);
  vd density = at_least(p.density_floor, density_in);
  vd inverse = all(1.0) / density;
  vd mx = load(u + 1 * u_stride), my = load(u + 2 * u_stride), mz = load(u + 3 * u_stride);
  vm thin = less(density_in, density);
  if (any(thin)) [[unlikely]] {  // as raise_density()
    vm none = not_less(all(0.0), density_in);
    mx = select(none, all(0.0), mx), my = select(none, all(0.0), my), mz = select(none, all(0.0), mz);
  }
  vd tracer = load(u + i_tracer * u_stride);
  vd kinetic = kinetic_energy(mx, my, mz, inverse);
  const typename Eos::cold cold = eos.at(density);
  vd pressure_in = eos.pressure(thermal_energy(p, eos, cold, load(u + i_energy * u_stride), kinetic, tracer), cold);
  vd pressure = eos.at_least_pressure(p.pressure_floor, pressure_in, cold);
  store(w, density);
  store(w + 1 * w_stride, mx * inverse);
  store(w + 2 * w_stride, my * inverse);
  store(w + 3 * w_stride, mz * inverse);
  store(w + i_pressure * w_stride, pressure);
  store(w + i_tracer * w_stride, tracer * inverse);
  for (int v = i_species; v < n_var; ++v) store(w + v * w_stride, load(u + v * u_stride) * inverse);
  return any(either(thin, less(pressure_in, pressure)));
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
