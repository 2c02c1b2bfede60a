// One Runge-Kutta stage of one block, scheme `faces`: primitive variables, reconstruction to six face centres (PPM or
// PLM), one Riemann problem per face, species and entropy tracer with the mass flux, dual energy, floors.
//
// One source is compiled for several instruction sets; the fastest that the machine has is chosen at run time
// (star/hydro/isa.hpp). All of them, and mirrored, permuted and rotated problems, agree to the last bit.
//
// Thread safety: pure functions of their arguments; any number of threads, each with its own scratch.
// Cost: docs/decisions/0001-simd.md; no allocation.
// Example: star/hydro/stage_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "star/hydro/isa.hpp"
#include "star/hydro/options.hpp"
#include "star/hydro/state.hpp"

namespace plx::star {

inline constexpr int ghost_layers = 3;

/// N may be 8, 16, 24, ... 64.
constexpr bool is_block_size(int n) { return n >= 8 && n <= 64 && n % 8 == 0; }

/// What a stage reads. Shapes: n_var = variable_count(parameters.n_species), M = n + 2 * ghost_layers.
struct stage_input {
  const double* tile =
      nullptr;  ///< [n_var][M][M][M] (k, j, i), conserved; values beyond edges and corners are not read
  const double* u_old = nullptr;  ///< [n_var][n][n][n], the state at the start of the time step
  int n = 8;
  double dx = 1.0;      ///< edge of a cell, the same along each axis
  double dt = 0.0;      ///< of the whole step
  double weight = 1.0;  ///< of this stage: integrator::weight
};

/// What a stage writes.
struct stage_output {
  double* u_new = nullptr;  ///< [n_var][n][n][n]; may be u_old
  /// Fluxes through the block's sides, nullptr where nobody wants them: by side x-, x+, y-, y+, z-, z+;
  /// [n_var][n][n], the last index along x (along y for the x sides), the one before along z (y for the z sides).
  /// Per area and time, positive along the axis. u_new changes by -weight * dt / dx * (F+ - F-).
  double* face_flux[6] = {};

  double max_signal_rate = 0.0;      ///< of u_new: largest (|v| + c) / dx over cells and axes; dt = cfl / rate
  std::int64_t density_floors = 0;   ///< cells of u_new raised to the floor, their momentum kept
  std::int64_t pressure_floors = 0;  ///< cells of u_new whose internal energy was raised
  std::int64_t input_floors = 0;     ///< cells of the tile, ghosts included, with a floor applied before reconstruction
  int first_bad_cell = -1;           ///< (k * n + j) * n + i of the first cell not finite or not positive, or -1
};

/// Bytes of scratch that advance_block needs.
std::size_t stage_scratch_bytes(const hydro_parameters& parameters, int n);

/// Advances one block by one stage.
/// Units:    code units.
/// Requires: is_block_size(in.n); scratch of stage_scratch_bytes, aligned to 64 bytes.
/// Errors:   none; states that floors cannot mend are reported in out.first_bad_cell (u_new is written all the same).
/// Source:   Colella & Woodward (1984); Toro (2009), section 10.4; Shu & Osher (1988).
void advance_block(const hydro_parameters& parameters, const stage_input& in, stage_output& out, void* scratch,
                   isa which = active_isa());

/// A box of cells [lower, upper) of a block, (i, j, k).
struct cell_box {
  int lower[3];
  int upper[3];
};

/// Checks a box of a block in place, [n_var][n][n][n], and applies the floors: for cells changed after a stage (flux
/// correction at coarse-fine faces, regridding) and for initial states. Fills all of `out` but u_new and face_flux.
void check_cells(const hydro_parameters& parameters, double* u, int n, double dx, const cell_box& box,
                 stage_output& out);

}  // namespace plx::star
