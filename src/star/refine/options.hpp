// Options of refinement: section [refinement] of an input.
//
// Thread safety: values. Cost: negligible. Example: star/refine/test/refinement_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/domain.hpp"

namespace plx {
class config_table;
}

namespace plx::star {

/// Section [refinement]: where the mesh is refined. All criteria apply; the finest requested level wins.
struct refinement_options {
  std::int64_t interval = 4;       ///< steps between checks
  std::int64_t buffer = 2;         ///< cells around a marked one that are refined with it
  std::int64_t coarsen_after = 3;  ///< consecutive checks in which a block must request it
  std::int64_t max_blocks = 0;     ///< above it the thresholds are weakened (refine/regrid.hpp); 0: no limit
  std::vector<std::string> gradient_of{"rho", "press"};
  double gradient_refine = 0.4;
  double gradient_coarsen = 0.15;
  std::vector<std::string> curvature_of;
  double curvature_refine = 0.6;
  double curvature_coarsen = 0.3;
  std::vector<double> density_levels;
  double cell_mass = 0.0;          ///< of a cell, code units; 0: not checked
  double cell_mass_coarsen = 0.5;  ///< share of cell_mass that the cells of a coarsened block may have
  double jeans_cells = 0.0;        ///< least number of cells per Jeans length; 0: not checked
  double jeans_coarsen = 1.25;     ///< factor of jeans_cells that the cells of a coarsened block must keep
  std::vector<double> species;     ///< [range][number, lower, upper]: mass fractions
  std::vector<double> regions;     ///< [box][x lower, x upper, ..., z upper, level]

  void describe(config_table& table);
  /// Errors: one line about the first value that does not fit the others.
  result<void> check() const;
  /// Errors: one line about the first value that does not fit the domain, the number of species, or a gas whose
  ///         gravitational constant is unknown (0).
  result<void> check_for(const mesh::domain& box, int n_species, double gravitational_constant) const;
};

}  // namespace plx::star
