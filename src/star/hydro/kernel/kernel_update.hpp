// Conversion of conserved to primitive variables, and the end of a stage: the Runge-Kutta combination, floors, dual
// energy, and the report.
//
// Thread safety: writes its outputs only. Cost for `lanes` cells: a conversion about 35 instructions and a division;
// the end of a stage about 250 instructions, two thirds of them the power of the entropy tracer. Example:
// star/hydro/test/stage_test.cpp
#pragma once

#include "star/hydro/eos.hpp"
#include "star/hydro/kernel/kernel_riemann.hpp"
#include "star/hydro/kernel/kernel_sums.hpp"

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

// ---- The end of a stage for `lanes` cells: the Runge-Kutta combination, floors, dual energy, and the report.
//
// Cost: about 250 instructions for `lanes` cells, two thirds of them the power of the entropy tracer.

/// Collected over the cells of a block.
struct tally {
  vd signal_speed = all(0.0);  ///< largest sum over axes of |v| + c
  std::int64_t density_floors = 0, pressure_floors = 0;
  std::int64_t added_terms = 0;  ///< to the sums of floor_target
  int first_bad = -1;

  PLX_INLINE void add(const floor_target& to, int variable, vd change, unsigned set) {
    if (to.sums == nullptr || set == 0) return;
    add_lanes(to.sums + variable, change, to.scale, set);
    added_terms += count_of(set);
  }
};

/// Makes partial densities nonnegative with the density as their sum; equal parts if there is nothing positive. Changes
/// beyond rounding are added to target().
template <class Target>
PLX_INLINE void settle_species(double* u, std::ptrdiff_t variable, int n_species, vd density, unsigned valid,
                               Target target, tally& t) {
  double* x = u + i_species * variable;
  vd sum = all(0.0), lowest = all(0.0);
  for (int s = 0; s < n_species; ++s) {
    vd value = load(x + s * variable);
    lowest = vmin(value, lowest);
    sum = sum + at_least(0.0, value);
  }
  vm empty = less(sum, all(1e-290) * density);
  vm changed = either(less(lowest, all(0.0)), less(all(1e-10) * density, vabs(sum - density)));
  vd factor = density / select(empty, density, sum);
  if (any(either(changed, empty))) [[unlikely]] {
    const unsigned set = bits(either(changed, empty)) & valid;
    for (int s = 0; s < n_species; ++s) {
      const vd before = load(x + s * variable), kept = at_least(0.0, before);
      const vd after = select(empty, density * all(1.0 / n_species), kept) * factor;
      store(x + s * variable, after);
      t.add(target(), i_species + s, after - before, set);
    }
    return;
  }
  for (int s = 0; s < n_species; ++s) store(x + s * variable, at_least(0.0, load(x + s * variable)) * factor);
}

/// Raises densities below the floor: they keep their momentum, which cannot add kinetic energy, and their thermal
/// energy; a density that is not positive takes the velocity zero and the pressure floor. `cold`: of the raised
/// density. Returns the kinetic energy.
template <class Eos>
PLX_INLINE vd raise_density(const hydro_parameters& p, const Eos& eos, const typename Eos::cold& cold, vd density_in,
                            vd density, vd (&m)[3], vd& total, vd& tracer) {
  vm thin = less(density_in, density), none = not_less(all(0.0), density_in);
  vd kinetic_in = kinetic_energy(m[0], m[1], m[2], all(1.0) / select(none, density, density_in));
  vd thermal = select(none, all(0.0), thermal_energy(p, eos, eos.at(density_in), total, kinetic_in, tracer));
  for (vd& component : m) component = select(none, all(0.0), component);
  vd kinetic = kinetic_energy(m[0], m[1], m[2], all(1.0) / density);
  total = select(thin, kinetic + eos.internal_energy_of_thermal(thermal, cold), total);
  if constexpr (Eos::tracer_has_density) tracer = select(thin, eos.tracer(thermal, cold), tracer);
  return kinetic;
}

/// Adds the changes of the momentum of cells from that at u to `m`, and of their angular momentum if there is spin.
template <class Centre>
PLX_INLINE void add_lost_momentum(const floor_target& to, const double* u, std::ptrdiff_t variable, const vd (&m)[3],
                                  unsigned set, Centre centre, tally& t) {
  vd change[3];
  for (int axis = 0; axis < 3; ++axis) {
    change[axis] = m[axis] - load(u + (i_momentum + axis) * variable);
    t.add(to, i_momentum + axis, change[axis], set);
  }
  if (to.spin < 0) return;
  const vd at[3] = {centre(0), centre(1), centre(2)};
  for (int axis = 0; axis < 3; ++axis) {
    const int y = (axis + 1) % 3, z = (axis + 2) % 3;
    t.add(to, to.spin + axis, at[y] * change[z] - at[z] * change[y], set);
  }
}

/// Applies floors and the dual-energy rules to the cells at u (variables `variable` apart), in place. `finite` is 0, or
/// not finite after an invalid operation; `energy_nearby` is the largest total energy of the neighbours; `index` that
/// of the first cell; `valid` has a bit for each lane that counts. `centre(axis)`: coordinates of the cells' centres.
/// `target()`: a floor_target, to which the changes by floors are added.
template <class Eos, class Centre, class Target>
PLX_INLINE void settle(const hydro_parameters& p, double* u, std::ptrdiff_t variable, vd finite, vd energy_nearby,
                       int index, unsigned valid, Centre centre, Target target, tally& t) {
  const Eos eos(p.eos);
  vd density_in = load(u), density = at_least(p.density_floor, density_in);
  vd inverse = all(1.0) / density;
  vd m[3] = {load(u + 1 * variable), load(u + 2 * variable), load(u + 3 * variable)};
  vd total = load(u + i_energy * variable), tracer = load(u + i_tracer * variable);
  vd kinetic = kinetic_energy(m[0], m[1], m[2], inverse);
  const typename Eos::cold cold_values = eos.at(density);
  vm thin = less(density_in, density);
  if (any(thin)) [[unlikely]] {
    const vd total_in = total;
    kinetic = raise_density(p, eos, cold_values, density_in, density, m, total, tracer);
    const floor_target to = target();
    const unsigned set = bits(thin) & valid;
    t.add(to, i_density, density - density_in, set);
    t.add(to, i_energy, total - total_in, set);
    if (to.potential != nullptr) t.add(to, i_energy, (density - density_in) * load(to.potential), set);
    const vm none = not_less(all(0.0), density_in);
    if (any(none)) add_lost_momentum(to, u, variable, m, bits(none) & valid, centre, t);
    for (int axis = 0; axis < 3; ++axis) store(u + (i_momentum + axis) * variable, m[axis]);
  }
  vd energy_in = thermal_energy(p, eos, cold_values, total, kinetic, tracer);  // thermal, as all energies below
  vd energy = vmax(eos.least_thermal_energy(p.pressure_floor, cold_values), energy_in);
  vm cold = less(energy_in, energy);
  vm reset = either(cold, less(all(p.dual_energy_reset) * vmax(total, energy_nearby),
                               eos.thermal_energy(total - kinetic, cold_values)));
  if (any(reset)) tracer = select(reset, eos.tracer(energy, cold_values), tracer);
  store(u, density);
  const vd settled = select(cold, kinetic + eos.internal_energy_of_thermal(energy, cold_values), total);
  if (any(cold)) [[unlikely]]
    t.add(target(), i_energy, settled - total, bits(cold) & valid);
  store(u + i_energy * variable, settled);
  store(u + i_tracer * variable, tracer);
  if (p.n_species > 0) settle_species(u, variable, p.n_species, density, valid, target, t);

  vd sound = vsqrt(eos.bulk_modulus_of_thermal(energy, cold_values) * inverse);
  if (p.omega != 0.0) {  // the speed is relative to the mesh
    const mesh_velocity w = velocity_of_mesh(p.omega, centre(0), centre(1));
    m[0] = m[0] - density * w.x, m[1] = m[1] - density * w.y;
  }
  vd speed = sum3(vabs(m[0]), vabs(m[1]), vabs(m[2])) * inverse + all(3.0) * sound;
  t.signal_speed = vmax(speed, t.signal_speed);
  t.density_floors += count_of(bits(thin) & valid);
  t.pressure_floors += count_of(bits(cold) & valid);
  vd zero = all(0.0);
  finite = finite + (density + tracer + energy) * zero;
  vm bad = either(not_less(vabs(finite), all(1.0)), either(not_less(zero, density), not_less(zero, energy)));
  const unsigned bad_lanes = bits(bad) & valid;
  if (bad_lanes != 0) [[unlikely]]
    if (t.first_bad < 0 || index < t.first_bad) t.first_bad = index + first_of(bad_lanes);
}

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
