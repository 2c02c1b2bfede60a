// Code units in CGS: what a length, mass or time of 1 in a run means, and the constants of nature that follow from it.
//
//   [units]
//   length = "Rsun"            # a number in CGS, a name, or both: "0.5 Rsun"
//   mass = "Msun"              # or density
//   time = "gravity"           # the unit of time for which the constant of gravity is 1
//
// Thread safety: values. Cost: negligible. Example: star/units/test/units_test.cpp
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace plx {
class config_table;
}

namespace plx::star {

/// Constants in CGS. Source: CODATA 2018; solar values are the nominal ones of IAU 2015 resolution B3, with the mass
/// from its G M.
namespace cgs {
inline constexpr double gravitational_constant = 6.67430e-8;  ///< cm^3 g^-1 s^-2
inline constexpr double speed_of_light = 2.99792458e10;       ///< cm s^-1
inline constexpr double boltzmann = 1.380649e-16;             ///< erg K^-1
inline constexpr double atomic_mass = 1.66053906660e-24;      ///< g
inline constexpr double radiation = 7.565733e-15;             ///< a, erg cm^-3 K^-4
/// A of the pressure of degenerate electrons, pi m_e^4 c^5 / (3 h^3), dyn cm^-2.
inline constexpr double electron_pressure = 6.002332e22;
/// B, the density at which their Fermi momentum is m_e c, for one nucleon per electron: 8 pi m_u (m_e c / h)^3 / 3,
/// g cm^-3.
inline constexpr double electron_density = 9.739322e5;
}  // namespace cgs

/// Powers of length, mass and time in the unit of a quantity.
struct dimension {
  int length = 0, mass = 0, time = 0;
  bool operator==(const dimension&) const = default;
};

namespace dimensions {
inline constexpr dimension none{}, length{1, 0, 0}, mass{0, 1, 0}, time{0, 0, 1}, velocity{1, 0, -1}, density{-3, 1, 0},
    momentum{-2, 1, -1}, pressure{-1, 1, -2}, energy{2, 1, -2};
}

/// The size of the code units in CGS. Without [units] they are unknown, and all are 1.
struct units {
  double length_cm = 1.0, mass_g = 1.0, time_s = 1.0;
  bool known = false;

  /// The code unit of a quantity, in CGS.
  double cgs_of(dimension d) const;
  double to_cgs(double code, dimension d) const { return code * cgs_of(d); }
  double to_code(double cgs, dimension d) const { return cgs / cgs_of(d); }
  /// The constant of gravity in code units. Requires: known.
  double gravitational_constant() const { return to_code(cgs::gravitational_constant, {3, -1, -2}); }
  double speed_of_light() const { return to_code(cgs::speed_of_light, dimensions::velocity); }
  /// The gas constant, k / (mu m_u), in code units per kelvin: pressure over density at 1 K of a gas whose particles
  /// have mu atomic masses each. Requires: known, mu > 0.
  double gas_constant(double mu) const { return to_code(cgs::boltzmann / (mu * cgs::atomic_mass), {2, 0, -2}); }
  /// "g cm^-3" of a density; "1" without dimension; "code" where the units are unknown.
  std::string name_of(dimension d) const;
};

/// The attributes of files: LengthUnit (cm), MassUnit (g), TimeUnit (s); none where the units are unknown.
std::vector<std::pair<std::string, double>> attributes_of(const units& u);

/// Section [units].
struct unit_options {
  std::string length, mass, density, time;

  void describe(config_table& table);
  /// Errors: one line: a part is missing, given twice, or not a positive number with a known name.
  result<units> make() const;
};

}  // namespace plx::star
