// One Runge-Kutta stage of one block. Scheme `faces`: primitive variables, reconstruction to six face centres (PPM, PLM
// or MP5), one Riemann problem per face. Scheme `full3d`: PPM along 13 axes to 26 points of the cell's surface, nine
// fluxes per face. Both: species and entropy tracer with the mass flux, dual energy, floors.
//
// One source is compiled for several instruction sets; the fastest that the machine supports is selected at run time
// (star/hydro/isa.hpp). All of them, and mirrored, permuted and rotated problems, agree to the last bit.
//
// Thread safety: pure functions of their arguments; any number of threads, each with its own scratch.
// Cost: docs/decisions/0001-simd.md (faces), 0010-full3d.md; no allocation.
// Example: star/hydro/test/stage_test.cpp
#pragma once

#include <cstddef>

#include "star/hydro/isa.hpp"
#include "star/hydro/parameters.hpp"

namespace plx::star {

/// Bytes of scratch that advance_block needs.
std::size_t stage_scratch_bytes(const hydro_parameters& parameters, int n);

/// Advances one block by one stage.
/// Units:    code units.
/// Requires: is_block_size(in.n); scratch of stage_scratch_bytes, aligned to 64 bytes.
/// Errors:   none; states the floors cannot repair are reported in out.first_bad_cell (u_new is written nevertheless).
/// Source:   Colella & Woodward (1984); Toro (2009), section 10.4; Shu & Osher (1988).
void advance_block(const hydro_parameters& parameters, const stage_input& in, stage_output& out, void* scratch,
                   isa which = active_isa());

/// Checks a box of a block in place, [n_var][n][n][n], and applies the floors: for cells changed after a stage (flux
/// correction at coarse-fine faces, regridding) and for initial states. Fills all of `out` except u_new and face_flux.
void check_cells(const hydro_parameters& parameters, double* u, int n, const block_place& place, const cell_box& box,
                 stage_output& out);

}  // namespace plx::star
