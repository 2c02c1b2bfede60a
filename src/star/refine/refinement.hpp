// Refinement criteria: their options, section [refinement] of an input, and the requests of blocks that follow from
// them, with buffer cells around marked cells.
//
// Thread safety: call from a task on all localities, exclusively; blocks are checked in parallel. Results do not depend
// on the schedule or the partition; a mirrored or permuted state gives mirrored or permuted results. Cost: about 30 us
// per block of 8^3 cells. Example: star/refine/test/refinement_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/domain.hpp"

namespace plx {
class config_table;
}
namespace plx::mesh {
enum class flag : std::int8_t;
}
namespace plx::star::device {
struct cell_criteria;
}

namespace plx::star {

struct gas;
struct setup;
class gravity_field;
class worker_scratch;

/// Section [refinement]: where the mesh is refined. All criteria apply; the finest requested level wins.
struct refinement_options {
  std::int64_t interval = 4;       ///< steps between checks
  std::int64_t buffer = 2;         ///< cells around a marked one that are refined with it
  std::int64_t coarsen_after = 3;  ///< consecutive checks in which a block must request it
  std::int64_t max_blocks = 0;     ///< above it the thresholds are weakened (refine/regrid.hpp); 0: no limit
  bool fill_blocks = false;        ///< below it they are strengthened
  std::vector<std::string> gradient_of{"rho", "press"};
  double gradient_refine = 0.4;
  double gradient_coarsen = 0.15;
  std::vector<std::string> curvature_of;
  double curvature_refine = 0.6;
  double curvature_coarsen = 0.3;
  std::vector<double> density_levels;
  double cell_mass = 0.0;                ///< of a cell, code units; 0: not checked
  double cell_mass_coarsen = 0.5;        ///< share of cell_mass that the cells of a coarsened block may have
  double jeans_cells = 0.0;              ///< least number of cells per Jeans length; 0: not checked
  double jeans_coarsen = 1.25;           ///< factor of jeans_cells that the cells of a coarsened block must keep
  std::vector<double> potential_levels;  ///< by level: depths of the gravitational potential
  std::vector<double> species;           ///< [range][number, lower, upper]: mass fractions
  std::vector<double> regions;           ///< [box][x lower, x upper, ..., z upper, level]

  void describe(config_table& table);
  /// Errors: one line about the first value that does not fit the others.
  result<void> check() const;
  /// Errors: one line about the first value that does not fit the domain, the number of species, a gas whose
  ///         gravitational constant is unknown (0), or one without self-gravity.
  result<void> check_for(const mesh::domain& box, int n_species, double gravitational_constant,
                         bool self_gravity) const;
};

/// The request of each block of all localities, by slot. Requires: the mirrors of g.now are up to date; `gravity`, of
/// this state, if there are potential_levels.
/// Criteria, for each cell:
///   gradient   of rho, press: |q1 - q0| / max(|q0|, |q1|) to each of the six neighbours; of velocities: |v1 - v0| over
///              the larger sound speed;
///   curvature  |q+ - 2 q + q-| / (|q+ - q| + |q - q-| + 0.01 (|q+| + 2 |q| + |q-|)) along each axis (Loehner 1987);
///   density    above density_levels[level];
///   mass       of the cell above cell_mass;
///   Jeans      sqrt(pi c^2 / (G density)) below jeans_cells cells;
///   potential  deeper than potential_levels[level]: -phi above it;
///   species    a mass fraction, or a value between it and that of a neighbour, in a range of `species`;
///   region     the block overlaps a box that requires a deeper level.
/// A marked cell requests refinement of its own block and of the neighbours within `buffer` cells; one that would be
/// marked in a block one level coarser, whose limits differ, requests that the neighbours are not coarser than its own.
/// A block requests coarsening when all its cells are below the thresholds for that. `weakening`: a factor
/// above 0 of all thresholds (refine/regrid.hpp).
std::vector<mesh::flag> refinement_flags(const gas& g, const setup& s, const refinement_options& options,
                                         worker_scratch& scratch, double weakening = 1.0,
                                         const gravity_field* gravity = nullptr);

/// The same from a device's marks of the blocks' cells; regions and the potential are checked on the host. Shapes:
/// marks: two of each local block, in the order of the curve.
std::vector<mesh::flag> refinement_flags(const gas& g, const refinement_options& options,
                                         std::span<const std::uint32_t> marks, double weakening = 1.0,
                                         const gravity_field* gravity = nullptr);
/// The criteria of cells in the form that a device takes.
device::cell_criteria criteria_of(const refinement_options& options, const setup& s, double weakening);

}  // namespace plx::star
