#include "star/hydro/state.hpp"

#include "base/assert.hpp"
#include "num/symmetric.hpp"

namespace plx::star {

namespace {
std::vector<variable_info> named(std::initializer_list<const char*> names, const char* species, int n_species) {
  PLX_ASSERT(n_species >= 0 && n_species <= max_species, n_species);
  std::vector<variable_info> all;
  for (const char* name : names) all.push_back({.name = name});
  for (int axis = 0; axis < 3; ++axis) all[i_momentum + axis].vector_axis = axis;
  for (int s = 0; s < n_species; ++s) all.push_back({.name = species + std::to_string(s)});
  return all;
}
}  // namespace

std::vector<variable_info> conserved_variables(int n_species, bool spin) {
  auto all = named({"dens", "mom1", "mom2", "mom3", "Etot", "tau"}, "rs", n_species);
  for (int v = 0; n_species > 0 && v < variable_count(n_species); ++v)
    if (v == i_density || v >= i_species) all[v].share_limiter = 0;
  for (int axis = 0; spin && axis < 3; ++axis)
    all.push_back({.name = "spin" + std::to_string(axis + 1), .vector_axis = axis, .axial = true});
  return all;
}

std::vector<variable_info> primitive_variables(int n_species) {
  return named({"rho", "vel1", "vel2", "vel3", "press", "tau"}, "s", n_species);
}

void to_conserved(const equation_of_state& eos, const primitive& w, int n_species, double* u, std::ptrdiff_t stride) {
  PLX_ASSERT(w.density > 0.0 && w.pressure > eos.least_pressure(w.density), w.density, w.pressure);
  PLX_ASSERT(n_species >= 0 && n_species <= max_species, n_species);
  u[i_density * stride] = w.density;
  double m[3];
  for (int axis = 0; axis < 3; ++axis) u[(i_momentum + axis) * stride] = m[axis] = w.density * w.velocity[axis];
  const double kinetic = 0.5 * symmetric_norm2(m[0], m[1], m[2]) * (1.0 / w.density);
  const double internal = eos.internal_energy(w.density, w.pressure), total = internal + kinetic;
  u[i_energy * stride] = total;
  // The tracer as a stage would set it, so that a constant state is unchanged to the last bit; but from the pressure
  // where the difference has lost digits.
  const bool as_stage = eos.thermal_energy(w.density, internal) > 0.1 * total;
  u[i_tracer * stride] = eos.tracer(w.density, as_stage ? total - kinetic : internal);
  for (int s = 0; s < n_species; ++s) u[(i_species + s) * stride] = w.density * w.fraction[s];
}

primitive to_primitive(const equation_of_state& eos, const double* u, std::ptrdiff_t stride, int n_species,
                       double dual_energy_switch) {
  primitive w;
  w.density = u[i_density * stride];
  const double* m = u + i_momentum * stride;
  for (int axis = 0; axis < 3; ++axis) w.velocity[axis] = m[axis * stride] / w.density;
  const double total = u[i_energy * stride];
  const double internal = total - 0.5 * symmetric_norm2(m[0], m[stride], m[2 * stride]) / w.density;
  double thermal = eos.thermal_energy(w.density, internal);
  if (thermal < dual_energy_switch * total) thermal = eos.thermal_energy_of_tracer(w.density, u[i_tracer * stride]);
  w.pressure = eos.of_thermal_energy(w.density, thermal).pressure - eos.pressure_offset();
  for (int s = 0; s < n_species; ++s) w.fraction[s] = u[(i_species + s) * stride] / w.density;
  return w;
}

}  // namespace plx::star
