// The equation of state is the kernels' with one lane, in a namespace of this file; not compiled with other sources.
#define PLX_HYDRO_ISA isa_scalar
#define PLX_HYDRO_ONE_LANE
#include "star/hydro/state.hpp"

#include <string>

#include "base/assert.hpp"
#include "num/symmetric.hpp"
#include "star/hydro/eos.hpp"

namespace plx::star {

namespace {

/// f(gas law, its cold values at a density).
template <class F>
double with_cold(const eos_parameters& p, double density, F f) {
  return isa_scalar::with_eos(p.kind, [&]<class Eos>() {
    const Eos eos(p);
    return f(eos, eos.at(density));
  });
}

}  // namespace

std::string_view name_of(eos_kind kind) {
  switch (kind) {
    case eos_kind::stiffened:
      return "stiffened";
    case eos_kind::white_dwarf:
      return "white_dwarf";
    case eos_kind::radiation:
      return "radiation";
    case eos_kind::ideal:
      break;
  }
  return "ideal";
}

double equation_of_state::least_pressure(double density) const {
  return with_cold(p_, density, [](const auto& eos, const auto& c) { return eos.pressure(0.0, c); }) -
         pressure_offset();
}

double equation_of_state::pressure(double density, double internal_energy) const {
  return with_cold(
             p_, density,
             [&](const auto& eos, const auto& c) { return eos.pressure(eos.thermal_energy(internal_energy, c), c); }) -
         pressure_offset();
}

double equation_of_state::internal_energy(double density, double pressure) const {
  const double positive = pressure + pressure_offset();
  return with_cold(p_, density, [&](const auto& eos, const auto& c) {
    return eos.internal_energy_of_thermal(eos.least_thermal_energy(eos.thermal_pressure(positive, c), c), c);
  });
}

double equation_of_state::thermal_energy(double density, double internal_energy) const {
  return with_cold(p_, density, [&](const auto& eos, const auto& c) { return eos.thermal_energy(internal_energy, c); });
}

double equation_of_state::sound_speed(double density, double pressure) const {
  const double positive = pressure + pressure_offset();
  return with_cold(p_, density,
                   [&](const auto& eos, const auto& c) { return isa_scalar::sound_speed(eos, density, positive, c); });
}

double equation_of_state::tracer(double density, double internal_energy) const {
  return with_cold(p_, density, [&](const auto& eos, const auto& c) {
    return eos.tracer(eos.thermal_energy(internal_energy, c), c);
  });
}

double equation_of_state::thermal_energy_of_tracer(double density, double tracer) const {
  return with_cold(p_, density,
                   [&](const auto& eos, const auto& c) { return eos.thermal_energy_of_tracer(tracer, c); });
}

double equation_of_state::gas_temperature(double density, double thermal_energy) const {
  return with_cold(p_, density,
                   [&](const auto& eos, const auto& c) { return eos.gas_pressure(thermal_energy, c) / density; });
}

equation_of_state::kernel_values equation_of_state::of_thermal_energy(double density, double thermal_energy) const {
  return isa_scalar::with_eos(p_.kind, [&]<class Eos>() {
    const Eos eos(p_);
    const typename Eos::cold c = eos.at(density);
    const double p = eos.pressure(thermal_energy, c);
    return kernel_values{p, isa_scalar::sound_speed(eos, density, p, c)};
  });
}

std::vector<mesh::field_info> fields_of(const hydro_parameters& p, std::span<const std::string> species) {
  PLX_ASSERT(p.n_species >= 0 && p.n_species <= max_species, p.n_species);
  PLX_ASSERT(species.empty() || species.size() == static_cast<std::size_t>(p.n_species), species.size());
  constexpr const char* axis_names[] = {"x", "y", "z"};
  std::vector<mesh::field_info> all;
  const auto add_vector = [&](const std::string& name, mesh::field_kind kind, mesh::quantity role,
                              const std::string& total) {
    for (int a = 0; a < 3; ++a)
      all.push_back({.name = name + std::to_string(a + 1),
                     .kind = kind,
                     .axis = a,
                     .role = role,
                     .total = total + axis_names[a]});
  };
  all.push_back(
      {.name = "dens", .limiter_group = p.n_species > 0 ? 0 : -1, .role = mesh::quantity::density, .total = "mass"});
  add_vector("mom", mesh::field_kind::polar, mesh::quantity::momentum, "momentum_");
  all.push_back({.name = "Etot", .role = mesh::quantity::energy, .total = "energy"});
  all.push_back({.name = "tau"});
  for (int s = 0; s < p.n_species; ++s)
    all.push_back({.name = "rs" + std::to_string(s),
                   .limiter_group = 0,
                   .total = species.empty() ? "species_" + std::to_string(s) : species[static_cast<std::size_t>(s)]});
  if (p.spin) add_vector("spin", mesh::field_kind::axial, mesh::quantity::other, "total_angular_momentum_");
  return all;
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
