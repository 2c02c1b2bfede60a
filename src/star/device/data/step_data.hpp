// Input and output of a device's kernels: plain structs, copied to the device unchanged. One item per block of the
// mesh, renewed after each regrid; offsets count doubles.
//
// Thread safety: values. Cost: 200 bytes per block, 1.1 KB with tiles.
// Example: star/device/test/device_gas_test.cpp, star/test/time_step_test.cpp
#pragma once

#include <cstdint>

#include "mesh/field/field_info.hpp"
#include "star/hydro/parameters.hpp"

namespace plx::star::device {

using star::exact_limbs;

// ---- the length of the next time step, computed by the host and by a device's kernel from the same text

/// The limits of a time step; see the options run.dt_... and hydro.cfl.
struct step_rule {
  double cfl = 0.9;
  double t_end = 0.0;         ///< met exactly; the last two steps have equal length instead of one being tiny
  double first_factor = 1.0;  ///< of the first step
  double growth = 0.0;        ///< largest ratio of a step to the one before; 0: no limit
  double shortest = 0.0;      ///< shorter steps end the run, except for the last ones before t_end
  double longest = 0.0;       ///< 0: no limit
};

/// The state that the next step depends on.
struct step_state {
  double time = 0.0, last_dt = 0.0;
  double signal_rate = 0.0;  ///< largest sum over axes of (|v| + c) / dx
  std::int64_t steps = 0;
};

/// The time step by all rules but t_end and `shortest`.
[[gnu::always_inline]] PLX_DEVICE static inline double free_dt(const step_rule& r, const step_state& s) {
  double dt = s.signal_rate > 0.0 ? r.cfl / s.signal_rate : r.t_end - s.time;
  if (s.steps == 0) dt = dt * r.first_factor;
  if (r.growth > 0.0 && s.last_dt > 0.0 && dt > r.growth * s.last_dt) dt = r.growth * s.last_dt;
  return r.longest > 0.0 && dt > r.longest ? r.longest : dt;
}

/// The time step; 0 if it would be shorter than `shortest` or would not advance the time.
[[gnu::always_inline]] PLX_DEVICE static inline double next_dt(const step_rule& r, const step_state& s) {
  const double remaining = r.t_end - s.time, free = free_dt(r, s);
  if (free < r.shortest) return 0.0;
  const double dt = free >= remaining ? remaining : 2.0 * free > remaining ? 0.5 * remaining : free;
  return dt > 0.0 && s.time + dt > s.time ? dt : 0.0;
}

/// The source of the ghost cells across a face.
enum class ghosts_from : std::int32_t {
  block,       ///< the block across the face, of the same level: `origin` is its first double in the arena
  slab,        ///< computed from other levels: `origin` is the first double in the slabs, [variable][k][j][i], 3 layers
  outflow,     ///< the block's last cells; the normal momentum is turned outward
  reflecting,  ///< the block's own cells mirrored, the normal momentum negated
  inflow,      ///< fixed values
  zero_gradient,  ///< the block's last cells
  given,  ///< `origin` is the first double in stage_arguments::given, [variable][k][j][i], 3 layers; a density of zero:
          ///< as reflecting. Without such values: zero_gradient
};
struct ghost_source {
  std::int64_t origin = 0;
  ghosts_from kind = ghosts_from::block;
  std::int32_t finer = 0;  ///< slab: from finer blocks
};

/// A face of a block whose ghost cells are given, and the place of its first double: ghosts_from::given.
struct given_face {
  std::int32_t slot = 0, face = 0;
  std::int64_t origin = 0;
};

/// A block, in the order of the curve.
struct block_item {
  std::int64_t values = 0;  ///< its first double in each arena
  block_place place;
  std::int32_t slot = 0;
  std::int32_t level = 0;
  ghost_source face[6];
  std::int64_t flux[6] = {-1, -1, -1, -1, -1, -1};  ///< offset of its fluxes, [variable][n][n] as stage_output; or -1
};

/// The report of a block on a step. Bits of a positive double are ordered as the double itself.
struct block_report {
  std::uint64_t speed_bits = 0;  ///< largest |v| + c of the last stage
  std::uint64_t bad = no_bad;    ///< smallest bad_key
  std::uint64_t density_floors = 0, pressure_floors = 0, input_floors = 0;
  std::uint64_t added_terms = 0;  ///< to the sums of what floors have added

  static constexpr std::uint64_t no_bad = ~std::uint64_t{0};
};

/// Orders bad cells as the stepper does: by stage, then those found by the stage itself (part 0) before those found by
/// the flux correction of face 0, 1, ... (part 1, 2, ...), then those of part_of_check, then by cell.
constexpr int part_of_check = 7;  ///< the check after additional physics
constexpr std::uint64_t bad_key(int stage, int part, int cell) {
  return static_cast<std::uint64_t>(stage) << 40 | static_cast<std::uint64_t>(part) << 32 |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(cell));
}

/// The state of the integration, kept on the device so that steps follow each other without the host.
struct step_control {
  step_rule rule;
  step_state now;   ///< after the last step that succeeded
  double dt = 0.0;  ///< of the current or next step

  std::int64_t density_floors = 0, pressure_floors = 0, input_floors = 0;  ///< of all steps that succeeded
  /// Not 0: the integration pauses after each step that reaches a multiple of it. Code time.
  double wait_interval = 0.0;
  std::int32_t stopped = 0;        ///< a stop_reason; not 0: further steps do nothing
  std::int32_t carried = 0;        ///< pass_view::carried
  std::int32_t bad_stage = -1;     ///< of the step that failed
  std::int32_t bad_position = -1;  ///< on the curve
  std::int32_t bad_cell = -1;      ///< (k * n + j) * n + i
};
enum stop_reason : std::int32_t { going_on = 0, at_end = 1, bad_state = 2, no_progress = 3, waiting = 4 };

/// The record of a step: the state after it.
struct step_record {
  double time = 0.0, dt = 0.0;
  std::int64_t density_floors = 0, pressure_floors = 0, input_floors = 0;
  std::int64_t added_terms = 0;  ///< in this step: not 0 if floors have changed the integrals of variables
};

/// Sums of what floors add are spread over this number of copies, by group of threads.
inline constexpr int added_copies = 16;

/// One Runge-Kutta stage of all blocks. Shapes: arenas: [block][n_var][n][n][n] at block_item::values.
struct stage_arguments {
  hydro_parameters hydro;
  int n = 8;
  int n_blocks = 0;
  int stage = 0;
  bool last = false;
  double weight = 1.0;  ///< integrator::weight
  const double* source = nullptr;
  const double* u_old = nullptr;  ///< must not be `target`
  double* target = nullptr;
  const double* slabs = nullptr;
  const double* inflow = nullptr;  ///< [face][n_var]
  const double* given = nullptr;   ///< at the time of `source`
  double* fluxes = nullptr;
  const block_item* blocks = nullptr;
  block_report* reports = nullptr;
  const step_control* control = nullptr;
  /// stage_input::potential and stage_output::work of the blocks, or nullptr; by slot: the row of a block.
  const double* potential = nullptr;
  double* work = nullptr;
  const std::int32_t* potential_rows = nullptr;
  const std::int32_t* work_rows = nullptr;
  const double* tiles = nullptr;  ///< tiles_arguments::tiles, in place of slabs; or nullptr: tile_reach_of()
  double* parts = nullptr;        ///< of full3d: scratch, full3d_part_doubles for each box of 8^3 cells
  double* kept = nullptr;         ///< with species or spin: scratch, kept_doubles() for each box; or nullptr
  floor_sums added;               ///< [added_copies][n_var]
};

/// Fluxes that are kept through all faces of a box: of the mass, with spin of the momentum, then of each species and of
/// the spin.
constexpr int kept_species(const hydro_parameters& p) { return p.spin ? 4 : 1; }
constexpr int kept_spin(const hydro_parameters& p) { return kept_species(p) + p.n_species; }
constexpr int kept_doubles(const hydro_parameters& p) {
  return (kept_spin(p) + (p.spin ? spin_variables : 0)) * 3 * 9 * 64;
}

/// Per box: two parts of the sums over the points of each face, of five variables; then the fluxes' differences.
constexpr int full3d_part_doubles = 2 * 5 * 3 * 9 * 64;

/// A box of cells of a coarse tile and its source: [lo, hi), where cell 0 is the first under the block. Cell c is cell
/// c + shift of the source's block, or with `mean` the mean of its eight cells 2 c + shift ...
struct coarse_fill {
  std::int64_t source = 0;  ///< first double of the source's block
  std::int32_t lo[3] = {}, hi[3] = {}, shift[3] = {};
  std::int32_t mean = 0;
};

/// A block with neighbours of other levels across faces: its ghost cells there are written to slabs.
struct level_item {
  std::int32_t position = 0;                         ///< in the list of blocks
  std::uint32_t finer = 0, coarser = 0, beyond = 0;  ///< faces, as bits
  std::int32_t fills_begin = 0, fills_end = 0;
  std::int64_t coarse_tile = 0;  ///< offset of its coarse tile, [variable][k][j][i] with n/2 + 6 cells along each axis
  std::int64_t fine[6][4] = {};  ///< by finer face: first doubles of the four blocks there
};

/// Ghost cells from other levels, of all blocks that have such neighbours. Shapes: as stage_arguments.
struct ghosts_arguments {
  mesh::field_table fields;
  int n = 8, n_items = 0;
  bool central = false;       ///< the limiter of the prolongation: mesh::limiter::central, or minmod
  std::int32_t side[6] = {};  ///< ghosts_from, by face of the domain
  const double* source = nullptr;
  const double* inflow = nullptr;
  double* slabs = nullptr;
  double* coarse_tiles = nullptr;
  const block_item* blocks = nullptr;
  const level_item* items = nullptr;
  const coarse_fill* fills = nullptr;
  const step_control* control = nullptr;
};

/// A block and its neighbours, by direction: (x + 1) + 3 (y + 1) + 9 (z + 1), each -1, 0 or 1.
struct tile_item {
  std::uint32_t same = 0, finer = 0, coarser = 0;  ///< directions, as bits
  std::uint32_t beyond = 0;                        ///< faces, as bits
  std::int32_t fills_begin = 0, fills_end = 0;
  std::int64_t coarse_tile = 0;   ///< as level_item
  std::int64_t from[27][4] = {};  ///< first double of the block of the same level, or of each of the finer ones
};

/// The ghost cells in tiles: there are no tiles, those across faces, or all.
enum class tile_reach : int { no_tiles, faces, full };
constexpr tile_reach tile_reach_of(const hydro_parameters& p) {
  return p.scheme == hydro_scheme::full3d || p.spin ? tile_reach::full
         : p.n_species > 0                          ? tile_reach::faces
                                                    : tile_reach::no_tiles;
}

/// The content of a tile: the primitive variables, with spin those of find_spin_at(), and the total energy.
constexpr int tile_moments_across(const hydro_parameters& p, int axis) { return variable_count(p) + 3 * axis; }
constexpr int tile_energy(const hydro_parameters& p) { return p.spin ? tile_moments_across(p, 3) : variable_count(p); }
constexpr int tile_variables(const hydro_parameters& p) { return tile_energy(p) + 1; }

/// Tiles of all blocks. Shapes: tiles: [block][tile_variables][n + 6][n + 6][n + 6].
struct tiles_arguments {
  hydro_parameters hydro;
  mesh::field_table fields;
  int n = 8, n_blocks = 0;
  bool central = false;
  std::int32_t side[6] = {};
  const double* source = nullptr;
  const double* inflow = nullptr;
  const double* given = nullptr;  ///< as stage_arguments, for tile_reach::faces
  double* tiles = nullptr;
  double* coarse_tiles = nullptr;
  const tile_item* items = nullptr;
  const block_item* blocks = nullptr;
  const coarse_fill* fills = nullptr;
  block_report* reports = nullptr;
  const step_control* control = nullptr;
};

/// A block whose fluxes are replaced by those of finer ones across faces.
struct correction_item {
  std::int32_t position = 0;
  std::uint32_t finer = 0;       ///< faces, as bits
  std::int64_t fine[6][4] = {};  ///< by such face: offsets of the fluxes of the four blocks across it
};
struct correction_arguments {
  hydro_parameters hydro;
  int n = 8, n_items = 0, stage = 0;
  bool last = false;
  double weight = 1.0;
  double* target = nullptr;
  const double* fluxes = nullptr;
  const block_item* blocks = nullptr;
  const correction_item* items = nullptr;
  block_report* reports = nullptr;
  const step_control* control = nullptr;
  // As stage_arguments:
  const double* potential = nullptr;
  const std::int32_t* potential_rows = nullptr;
  floor_sums added;
};

/// A face of a block on the boundary of the domain, for the outflow: mesh/field/face_fluxes.hpp.
struct side_item {
  std::int64_t flux = 0;  ///< offset of its fluxes
  double dx = 1.0;
  double sign = 1.0;  ///< 1 at an upper boundary
};
struct side_arguments {
  int n = 8, n_var = 0, n_items = 0;
  bool first = false;        ///< stage of the step
  double flux_weight = 1.0;  ///< integrator::flux_weight
  int steps_kept = 1;
  const double* fluxes = nullptr;
  const side_item* items = nullptr;
  double* parts = nullptr;  ///< [steps_kept][n_items][n_var]: step s at s % steps_kept
  const step_control* control = nullptr;
};

/// The end of a step: combines the reports of all blocks into the control, and the next time step.
struct finish_arguments {
  int n_blocks = 0;
  const block_item* blocks = nullptr;
  block_report* reports = nullptr;  ///< reset for the next step
  double* signal_rates = nullptr;   ///< by slot; of the last good step
  step_control* control = nullptr;
  int steps_kept = 1;
  step_record* records = nullptr;  ///< step s at s % steps_kept
  // Sums of what floors have added: moved from the copies, which are then zero, to the record of a step that succeeded.
  int n_var = 0;
  exact_limbs* added = nullptr;           ///< [added_copies][n_var]; nullptr: none
  exact_limbs* added_of_steps = nullptr;  ///< [steps_kept][n_var]
};

/// A box of cells of a block, and its position in a message, [variable][k][j][i]; or a face of fluxes.
struct copy_item {
  std::int64_t values = 0;     ///< of the first cell
  std::int64_t message = 0;    ///< of its first value
  std::int32_t cells[3] = {};  ///< along the axes
  std::int32_t unused = 0;
};

/// The exchange between parts of a mesh. Shapes: values: rows of n cells, planes of n rows, variables `variable`
/// doubles apart.
struct copy_arguments {
  int n = 8, n_var = 0, n_items = 0;
  bool out = true;  ///< into the message
  std::int64_t variable = 0;
  double* values = nullptr;
  double* message = nullptr;
  const copy_item* items = nullptr;
};

// ---- input and output of the kernels between steps: refinement criteria, values of new blocks, totals; some 100 bytes
// per new block

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
  std::uint32_t* marks = nullptr;    ///< two by position; those of the check before are replaced
  std::uint64_t turn = 0;            ///< number of the check, from 1
  std::uint64_t* changed = nullptr;  ///< becomes `turn` if a word differs from the one that it replaces
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
  mesh::field_table fields;
  int n = 8, n_children = 0, n_merged = 0;
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
  floor_sums added;  ///< as stage_arguments
};

/// Totals of all variables, of the angular momentum in place of the spin, as in star/state/gas.cpp.
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
