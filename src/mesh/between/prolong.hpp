// Transfer between coarse and fine cells: conservative, limited, symmetric to the last bit.
//
// Thread safety: pure. Cost: means 16, prolongation about 60 vector instructions per 4 cells.
// Example: mesh/between/test/level_kernels_test.cpp
#pragma once

#include <array>
#include <cstddef>

#include "mesh/field/field_info.hpp"
#include "mesh/tree/domain.hpp"

namespace plx::mesh {

/// An array [variable][k][j][i] whose cell (0, 0, 0) is at `origin`; cells before it may be addressed (ghost cells).
struct grid_view {
  double* origin = nullptr;
  std::ptrdiff_t row = 0, plane = 0, volume = 0;  // steps along j, k and from one variable to the next

  double* at(int i, int j, int k) const { return origin + i + j * row + k * plane; }
};

/// Half-open box of cells.
struct cell_box {
  std::array<int, 3> lo{};
  std::array<int, 3> hi{};
};

/// Fills the fine cells of a box from coarse ones: fine cell f lies in coarse cell floor(f / 2).
/// The value is c + (+-sx +-sy +-sz) / 4 with limited slopes s per coarse cell. The mean of the eight is c to rounding;
/// no value leaves the range of c and its six neighbours; linear fields are exact where the limiter does not act.
/// Fields with a density, a momentum and an energy: then each fine cell also keeps a part of the coarse cell's
/// internal energy, and the range holds for densities only (mesh/between/family_limits.hpp). A fine cell's value does
/// not depend on the box. Requires: coarse cells of the box and their six neighbours; the coarse array may be read up
/// to eight doubles beyond those (a tile_scratch has this margin at both ends).
void prolong_box(const grid_view& coarse, const grid_view& fine, const cell_box& fine_box, const field_table& fields,
                 limiter rule);

/// Fills the coarse cells of a box with the mean of the eight fine cells in each: coarse cell c covers 2c and 2c + 1.
void restrict_box(const grid_view& fine, const grid_view& coarse, const cell_box& coarse_box, int variables);

// ---- the inner loops. One source (level_kernels_body.hpp), compiled for the baseline and, on x86-64, for x86-64-v3
// with AVX2 (plx_kernels in cmake/plx_library.cmake); the version is selected once, at run time. All versions give the
// same results to the last bit: no reassociation, no fused multiply-add. Private to mesh.

struct level_kernels {
  /// As restrict_box().
  void (*restrict_box)(const grid_view& fine, const grid_view& coarse, const cell_box& coarse_box, int variables);
  /// As prolong_box() for a single variable.
  void (*prolong_box)(const grid_view& coarse, const grid_view& fine, const cell_box& fine_box, limiter rule);
};

namespace isa_baseline {
extern const level_kernels kernels;
}
#ifdef __x86_64__
namespace isa_avx2 {
extern const level_kernels kernels;
}
/// Does this machine support the instructions of x86-64-v3?
bool machine_has_avx2();
#endif

/// The fastest version that this machine supports.
const level_kernels& fastest_kernels();

}  // namespace plx::mesh
