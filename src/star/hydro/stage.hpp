// One Runge-Kutta stage of one block. Scheme `faces`: primitive variables, reconstruction to six face centres (PPM, PLM
// or MP5), one Riemann problem per face. Scheme `full3d`: PPM along 13 axes to 26 points of the cell's surface, nine
// fluxes per face. Both: species and entropy tracer with the mass flux, dual energy, floors.
//
// One source is compiled for several instruction sets; the fastest that the machine supports is selected at run time
// (active_isa()). All of them, and mirrored, permuted and rotated problems, agree to the last bit.
//
// Thread safety: pure functions of their arguments; any number of threads, each with its own scratch.
// Cost: docs/decisions/0001-simd.md (faces), 0010-full3d.md; no allocation.
// Example: star/hydro/test/stage_test.cpp
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "star/hydro/parameters.hpp"

namespace plx {
class exact_sum;
}

namespace plx::star {

// ---- the instruction set of the kernels: the best that this machine and this build support, or the one in PLX_ISA

enum class isa : int {
  baseline,  ///< the compiler's default: x86-64 (SSE2), or NEON on aarch64
  avx2,      ///< x86-64-v3
  avx512,    ///< x86-64-v4
};

std::string_view name_of(isa which);

/// Built and supported by this machine, slowest first. Never empty.
std::vector<isa> available_isas();

/// The best available one, or the one that environment variable PLX_ISA names ("baseline", "avx2", "avx512"). Errors:
/// an unknown or unsupported name: one line with the available ones. Call it where options are read.
result<isa> select_isa();

/// The instruction set of the kernels: the result of select_isa(), once per process; the best one if PLX_ISA is
/// invalid.
isa active_isa() noexcept;

// ---- the stage

/// Bytes of scratch that advance_block needs.
std::size_t stage_scratch_bytes(const hydro_parameters& parameters, int n);

/// Floating-point operations of a stage of one block, and bytes from and to memory.
struct stage_work {
  double flops = 0, bytes = 0;
};

/// As counted from the formulas in docs/decisions/0001-simd.md (faces) and 0010-full3d.md, without gravity and sources.
/// Memory that is only written counts twice, because its lines are read before. flops is 0 for schemes without a count:
/// reconstruction other than PPM, fluxes other than HLLC, equations of state other than the ideal gas, species, spin.
stage_work work_of_stage(const hydro_parameters& parameters, int n);

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

/// Adds a sum of the kernels (stage_output::added) to an exact one.
void add_limbs(const exact_limbs& sum, exact_sum& to);

}  // namespace plx::star
