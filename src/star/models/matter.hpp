// The matter of a star in equilibrium: density and pressure as functions of the enthalpy H = integral of dp / rho,
// which is zero at the surface.
//
// Thread safety: values. Cost: some 20 ns per function. Example: star/models/test/matter_test.cpp
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "star/hydro/state.hpp"

namespace plx::star::models {

enum class matter_kind {
  polytrope,      ///< p = K rho^(1 + 1/n)
  core_envelope,  ///< a polytrope around another one, with equal pressures where they meet
  white_dwarf     ///< degenerate electrons, the cold curve of eos.kind = "white_dwarf"
};
std::string_view name_of(matter_kind kind);
/// Errors: one line with the known names.
result<matter_kind> matter_kind_of(std::string_view name);

/// Density and pressure over H. With H_1, the enthalpy at the core's surface:
///   envelope:  rho = density_unit (H / H_1)^n,                    p = rho H / (n + 1)            H <= H_1
///   core:      rho = jump density_unit ((H - H_1) / H_c + 1)^n_c, p = rho (H - H_1 + H_c) / (n_c + 1)
///   with H_c = H_1 (n_c + 1) / (jump (n + 1)), so that p is continuous. Within `blend` / 2 of H_1 both formulas are
///   mixed, with a share of the core that is linear in H, and p is the integral of rho dH. A polytrope is an envelope
///   alone, with any H_1. white dwarf: sqrt(x^2 + 1) = 1 + H B / (8 A (1 + thermal)), rho = B x^3, p = (1 + thermal)
///   P_c(rho)
/// Source: Kadam et al. (2016), MNRAS 462, 2237, for the core; Chandrasekhar (1939), chapter XI, for white dwarfs.
struct matter {
  matter_kind kind = matter_kind::polytrope;
  double index = 1.5;       ///< n, of the polytrope or the envelope
  double core_index = 1.5;  ///< n_c
  double jump = 1.0;        ///< density of the core over that of the envelope where they meet; the ratio of their mean
                            ///< molecular weights
  double core_fraction = 0.0;  ///< mass of the core over that of the star
  double thermal = 0.0;        ///< of a white dwarf: thermal pressure over P_c
  equation_of_state eos{};     ///< of a white dwarf

  double density_unit = 1.0, enthalpy_unit = 1.0;  ///< found by the model: H_1 and the density of the envelope there
  double blend = 0.0;  ///< of H, where core and envelope mix: about what a cell of the model spans, so that its sums do
                       ///< not jump when the core's surface passes the centre of a cell; at most H_1 and H_c

  bool has_core() const { return kind == matter_kind::core_envelope; }
  /// Is the density at a given enthalpy free, to be found from the mass?
  bool has_scale() const { return kind != matter_kind::white_dwarf; }
  /// 0 for H <= 0.
  double density(double enthalpy) const;
  double pressure(double enthalpy) const;
  /// The part of the density that is core.
  double core_density(double enthalpy) const;
  /// H of a density, with a sharp surface of the core. Requires: density >= 0.
  double enthalpy(double density) const;
  /// K of the polytrope or the envelope; 0 for a white dwarf.
  double constant() const;
  /// Sets the units of a polytrope, or of an envelope that ends at this enthalpy, with this K.
  void set_constant(double k, double enthalpy_of_core = 1.0);
  /// A polytrope, perhaps with a part that counts as its core.
  bool is_polytrope() const {
    return kind == matter_kind::polytrope || (has_core() && jump == 1.0 && core_index == index);
  }

  /// All numbers, for files.
  std::vector<double> numbers() const;
  /// Errors: one line: not the numbers of a matter.
  static result<matter> of_numbers(const std::vector<double>& numbers);
};

/// The largest mass of a white dwarf, for which its radius is zero. Requires: matter_kind::white_dwarf.
/// Source: Chandrasekhar (1939), chapter XI: the polytrope of index 3 with K = 2 A / B^(4/3).
double largest_mass(const matter& m, double gravity);

/// A star without rotation.
struct sphere {
  double mass = 0.0, radius = 0.0, central_density = 0.0;
  std::vector<double> densities;   ///< at equal steps from the centre to the surface
  double density(double r) const;  ///< linear interpolation; 0 beyond the radius
};

/// The white dwarf of this mass. Requires: 0 < mass < largest_mass(). Cost: some 10 ms.
sphere white_dwarf_of(const matter& m, double mass, double gravity);
/// The polytrope of index n with this mass and radius.
sphere polytrope_of(double index, double mass, double radius, double gravity);
/// The radius of a polytrope of this mass and K. Requires: index is not 3. Errors: none; not finite or huge where the
/// mass is far from what K permits.
double radius_of_polytrope(double index, double mass, double k, double gravity);

}  // namespace plx::star::models
