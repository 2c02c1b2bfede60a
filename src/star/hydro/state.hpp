// The variables of the gas, their names, and conversions of one cell for problems and output (the kernels have their
// own, vectorised ones).
//
// Conserved variables of a cell, in this order in every tile and block:
//   0 density   1..3 momentum x y z   4 total energy   5 entropy tracer   6.. partial densities rho X_s of the species
//   with hydro_parameters::spin, after the species: x y z of the spin (star/hydro/kernel/kernel_spin.hpp)
// The entropy tracer is tau = (thermal energy per volume)^(1/gamma), which is the internal energy for an ideal gas
// (star/hydro/eos.hpp); it gives the pressure where other energy dominates (dual
// energy).
//
// Thread safety: pure functions. Cost: some ten ns a cell, no allocation except in the two name tables.
// Example: star/hydro/test/state_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "star/hydro/equation_of_state.hpp"

namespace plx::star {

/// Properties of a variable for meshes and files.
struct variable_info {
  std::string name;
  int vector_axis = -1;  ///< 0..2: a vector's component along that axis; it changes sign at a reflecting boundary
  /// Variables with the same value >= 0 share a common limiter in prolongation (density and partial densities).
  int share_limiter = -1;
  bool axial = false;  ///< of an axial vector: at a reflecting boundary the other two components change sign
};
/// dens mom1 mom2 mom3 Etot tau rs0 rs1 ... spin1 spin2 spin3: the names follow the order above.
std::vector<variable_info> conserved_variables(int n_species, bool spin = false);
/// rho vel1 vel2 vel3 press tau s0 s1 ...: as written to mesh files, in the order of to_primitive's values.
std::vector<variable_info> primitive_variables(int n_species);

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
