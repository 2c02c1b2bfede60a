// The equation of state of single cells, for problems, refinement and output: star/hydro/eos.hpp for one cell at a
// time.
//
// Pressures here are physical, except where said. Internal energies, per volume, are those of the conserved variables:
// for a stiffened gas e - p_inf, with e = (p + gamma p_inf) / (gamma - 1), so that both p + p_inf and the energy are
// positive. The dropped constant changes no motion (star/hydro/eos.hpp).
//
// Thread safety: pure functions. Cost: an ideal or stiffened gas some ns, the others some 100 ns; no allocation.
// Example: star/hydro/test/eos_test.cpp
#pragma once

#include <string_view>

#include "star/hydro/parameters.hpp"

namespace plx::star {

/// "ideal", "stiffened", "white_dwarf" or "radiation".
std::string_view name_of(eos_kind kind);

class equation_of_state {
 public:
  /// Requires: gamma > 1; the constants that the kind uses are positive (hydro_options::parameters() checks them).
  equation_of_state(const eos_parameters& parameters = {}) : p_(parameters) {}  // converts from hydro_parameters::eos

  const eos_parameters& parameters() const { return p_; }
  double gamma() const { return p_.gamma; }
  /// Whether c^2 = gamma (p + p_inf) / rho, with exact solutions as those of an ideal gas.
  bool has_gamma_law() const { return p_.kind == eos_kind::ideal || p_.kind == eos_kind::stiffened; }
  /// p_inf of a stiffened gas, otherwise 0: pressure + offset is positive.
  double pressure_offset() const { return p_.kind == eos_kind::stiffened ? p_.p_inf : 0.0; }
  /// The pressure without thermal energy: P_c of the density, -p_inf of a stiffened gas, 0 of an ideal one. Valid
  /// pressures are above it.
  double least_pressure(double density) const;

  double pressure(double density, double internal_energy) const;
  double internal_energy(double density, double pressure) const;
  /// e - E_c.
  double thermal_energy(double density, double internal_energy) const;
  double sound_speed(double density, double pressure) const;
  /// tau of an internal energy; the same bits as in the kernels.
  double tracer(double density, double internal_energy) const;
  double thermal_energy_of_tracer(double density, double tracer) const;
  /// Temperature times Boltzmann's constant over the mean mass of a particle: the pressure of the gas alone over the
  /// density; for a white dwarf that of its ions.
  double gas_temperature(double density, double thermal_energy) const;

  /// The positive pressure, pressure + pressure_offset(), and the speed of sound, with the kernels' bits.
  struct kernel_values {
    double pressure, sound_speed;
  };
  kernel_values of_thermal_energy(double density, double thermal_energy) const;

 private:
  eos_parameters p_;
};

}  // namespace plx::star
