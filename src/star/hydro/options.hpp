// Options of the hydrodynamics: sections [hydro] and [eos] of an input, and their conversion to the kernels'
// parameters.
//
// Thread safety: values. Cost: negligible.
// Example: star/hydro/test/options_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "star/hydro/parameters.hpp"

namespace plx {
class config_table;
}

namespace plx::star {

/// Strong-stability-preserving Runge-Kutta schemes in the form u_new = u_old + weight * ((u - u_old) + dt L(u)), which
/// is (1 - weight) u_old + weight (u + dt L(u)) with smaller rounding errors: a state with L = 0 is unchanged to the
/// last bit.
struct integrator {
  int stages;
  double weight[3];       ///< of each stage
  double flux_weight[3];  ///< share of the flux of each stage in the whole step; they sum to one
  double time_share[3];   ///< the state that a stage reads is that at the start of the step + time_share * dt

  /// Share of a change of the state that `stage` computes in the state at the end of the step; 1 after the last stage.
  constexpr double state_weight(int stage) const {
    double share = 1.0;
    for (int later = stage + 1; later < stages; ++later) share *= weight[later];
    return share;
  }
};
inline constexpr integrator ssp_rk3{3, {1.0, 0.25, 2.0 / 3.0}, {1.0 / 6.0, 1.0 / 6.0, 2.0 / 3.0}, {0.0, 1.0, 0.5}};
inline constexpr integrator ssp_rk2{2, {1.0, 0.5, 0.0}, {0.5, 0.5, 0.0}, {0.0, 1.0, 0.0}};

/// Section [eos].
struct eos_options {
  std::string kind = "ideal";
  double p_inf = 0.0;               ///< stiffened
  double electron_pressure = 0.0;   ///< white_dwarf
  double electron_density = 0.0;    ///< white_dwarf
  double gas_constant = 0.0;        ///< radiation
  double radiation_constant = 0.0;  ///< radiation
  double molecular_weight = 0.0;    ///< atomic masses per particle of the gas, of a white dwarf's ions; 0: unknown
  double electron_weight = 2.0;     ///< white_dwarf: nucleons per electron, for the constant that [units] give

  void describe(config_table& table);
  /// Errors: one line about the first invalid value, or one that the kind does not use.
  result<eos_parameters> parameters(double gamma) const;
};

/// Sections [hydro] and [eos].
struct hydro_options {
  double gamma = 1.4;
  double cfl = 0.0;  ///< 0: courant_number() chooses
  std::string scheme = "faces";
  std::string reconstruction = "ppm";
  std::string flux = "auto";  ///< hllc for faces, hll for full3d
  bool contact_steepening = false;
  bool spin = false;
  std::string integrator = "rk3";
  double density_floor = 1e-12;
  double pressure_floor = 1e-14;
  double dual_energy_switch = 1e-3;
  double dual_energy_reset = 0.1;
  eos_options eos;

  void describe(config_table& table);
  /// Errors: one line about the first invalid value (an unknown name, gamma <= 1, an option that the scheme lacks,
  ///         ...).
  result<hydro_parameters> parameters(int n_species) const;
  /// Requires: parameters() succeeded.
  star::integrator time_integrator() const;
  /// hydro.cfl, or 0.9 for rk3 and 0.6 for rk2.
  double courant_number() const;
};

}  // namespace plx::star
