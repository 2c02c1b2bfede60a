// The kernels' equation of state with one lane, in a namespace of this file. Not compiled together with other sources.
#define PLX_HYDRO_ISA isa_scalar
#define PLX_HYDRO_ONE_LANE
#include "star/hydro/equation_of_state.hpp"

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

}  // namespace plx::star
