// Input and output of the kernels between steps: refinement criteria, values of new blocks, totals. As step_data.hpp.
//
// Thread safety: values. Cost: some 100 bytes per new block.
// Example: star/device/device_regrid.cpp
#pragma once

#include <cstdint>

#include "star/device/data/step_data.hpp"

namespace plx::star::device {

/// The marks of a block's cells, as two words of bits: the directions that marked cells reach (0 to 26, 13 the block
/// itself), and this one if a cell forbids coarsening; and the directions that cells reach which would be marked in a
/// block one level coarser.
inline constexpr std::uint32_t mark_busy = 1u << 27;

/// Limits of a cell that depend on its block's level: of the density above which it is marked, would be marked one
/// level coarser, or forbids coarsening; and of c^2 / density below which it does.
enum level_limit : int { dense, dense_before, dense_kept, jeans, jeans_before, jeans_kept, level_limit_count };

/// The distances of a range of mass fractions from 0 and 1 are this much shorter where a block is not to be coarsened.
inline constexpr double species_kept = 0.5;

/// The criteria of refinement.hpp for all blocks. Variables, as bits: density, velocities x y z, pressure.
struct marks_arguments {
  hydro_parameters hydro;
  int n = 8, n_blocks = 0;
  std::uint32_t gradient_of = 0, curvature_of = 0;
  double gradient_refine = 0.0, gradient_coarsen = 0.0, curvature_refine = 0.0, curvature_coarsen = 0.0;
  int buffer = 0;         ///< cells
  bool of_sound = false;  ///< are there limits of c^2 / density?
  int n_levels = 0;
  const double* limits = nullptr;  ///< [level_limit][n_levels]
  int n_ranges = 0;
  const double* ranges = nullptr;  ///< of mass fractions: [n_ranges][number of the species, lower, upper]
  const double* source = nullptr;
  const double* slabs = nullptr;  ///< of `source`
  const double* inflow = nullptr;
  const double* given = nullptr;  ///< none between steps
  const block_item* blocks = nullptr;
  std::uint32_t* marks = nullptr;  ///< two by position
};

/// A new block that covers an eighth of an old one.
struct child_item {
  std::int32_t parent = 0;  ///< position in the list of old blocks
  std::int32_t which = 0;   ///< 0 to 7, bit 0 along x
  std::int64_t to = 0;      ///< offset of its first double
  double dx = 1.0;          ///< width of its cells
};
/// A new block that replaces eight old ones.
struct merged_item {
  std::int64_t to = 0;
  std::int64_t from[8] = {};
  double dx = 1.0;  ///< width of the old blocks' cells
};
struct move_arguments {
  int n = 8, n_var = 0, n_species = 0, n_children = 0, n_merged = 0;
  int spin = -1;         ///< spin_variable()
  bool central = false;  ///< as ghosts_arguments
  double* source = nullptr;
  const double* slabs = nullptr;  ///< of `source`
  const double* inflow = nullptr;
  const double* given = nullptr;       ///< none between steps
  const block_item* blocks = nullptr;  ///< old ones
  const child_item* children = nullptr;
  const merged_item* merged = nullptr;
};

/// Floors and speeds of blocks that were not computed by a stage.
struct check_arguments {
  hydro_parameters hydro;
  int n = 8, n_items = 0;
  double* source = nullptr;
  const std::int64_t* items = nullptr;  ///< offsets of first doubles; null: of all blocks
  const block_place* places = nullptr;  ///< by item, for hydro_parameters::omega
  block_report* reports = nullptr;      ///< by item
  // In a stage:
  const block_item* blocks = nullptr;
  const step_control* control = nullptr;
  int stage = 0;
  bool last = true;
};

/// A sum of doubles in the form of num/exact_sum.hpp, with the same number of limbs.
struct exact_limbs {
  static constexpr int count = 70;
  std::int64_t limb[count] = {};
};

/// Totals of all variables, of the angular momentum in place of the spin, as in star/state/totals.cpp.
struct totals_arguments {
  int n = 8, n_var = 0, n_blocks = 0;
  int spin = -1;       ///< spin_variable()
  int every = 1;       ///< computed at multiples of this number of steps
  int steps_kept = 1;  ///< step s is written to sums[s % steps_kept]; 0: always to the first
  const double* source = nullptr;
  const block_item* blocks = nullptr;
  exact_limbs* sums = nullptr;  ///< [steps_kept][n_var]
  const step_control* control = nullptr;
};

}  // namespace plx::star::device
