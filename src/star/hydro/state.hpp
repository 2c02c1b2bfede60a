// The fields of the gas, and the equation of state and conversions of one cell for problems, refinement and output (the
// kernels have their own, vectorised ones).
//
// Conserved variables of a cell, in this order in every tile and block:
//   0 density   1..3 momentum x y z   4 total energy   5 entropy tracer   6.. partial densities rho X_s of the species
//   with hydro_parameters::spin, after the species: x y z of the spin (star/hydro/kernel/kernel_spin.hpp)
// The entropy tracer is tau = (thermal energy per volume)^(1/gamma), which is the internal energy for an ideal gas
// (star/hydro/eos.hpp); it gives the pressure where other energy dominates (dual energy).
//
// Thread safety: pure functions. Cost: some ten ns a cell for ideal and stiffened gases, some 100 ns for others; no
// allocation except in fields_of(). Example: star/hydro/test/state_test.cpp, star/hydro/test/eos_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/field/field_info.hpp"
#include "star/hydro/parameters.hpp"

namespace plx::star {

// ---- the equation of state: star/hydro/eos.hpp for one cell at a time
//
// Pressures here are physical, except where said. Internal energies, per volume, are those of the conserved variables:
// for a stiffened gas e - p_inf, with e = (p + gamma p_inf) / (gamma - 1), so that both p + p_inf and the energy are
// positive. The dropped constant changes no motion (star/hydro/eos.hpp).

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

// ---- fields and conversions

/// The registry of a gas: dens mom1 mom2 mom3 Etot tau rs0 rs1 ... spin1 spin2 spin3, in the order above. `species`:
/// the names of the integrals of the species, by default species_0, ...
std::vector<mesh::field_info> fields_of(const hydro_parameters& p, std::span<const std::string> species = {});

/// One cell in primitive variables.
struct primitive {
  double density = 1.0;
  std::array<double, 3> velocity{};
  double pressure = 1.0;
  std::array<double, max_species> fraction{};  ///< mass fractions of the species, sum one
};

/// Conserved values of a cell: u[v * stride] for v < variable_count(n_species); without the spin.
/// Requires: density > 0, pressure > eos.least_pressure(density), n_species <= max_species.
void to_conserved(const equation_of_state& eos, const primitive& w, int n_species, double* u, std::ptrdiff_t stride);

/// Pressure from the total energy, or from the tracer where the thermal energy is below `dual_energy_switch` of the
/// total (hydro.dual_energy_switch). Non-finite values pass through.
primitive to_primitive(const equation_of_state& eos, const double* u, std::ptrdiff_t stride, int n_species,
                       double dual_energy_switch);

}  // namespace plx::star
