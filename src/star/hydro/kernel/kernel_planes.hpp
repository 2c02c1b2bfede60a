// Scheme `full3d`, the memory: a box of 8^3 cells is processed plane by plane, and the values at the points of a
// plane's cells are in scratch of some tens of KiB that the next group of axes reuses; they never leave the cache.
//
// All arrays of a plane have the pitch of the primitive variables' rows, so one index (a slot) serves all of them, and
// cells that are neighbours along an axis are a constant number of slots apart. Lanes run along x.
//
// Thread safety: values. Cost: none.
// Example: star/hydro/test/reference_full3d_test.cpp
#pragma once

#include "star/hydro/kernel/kernel_block.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

constexpr int cube = 8;              ///< cells of a box along each axis
constexpr int pitch = cube + 2 * g;  ///< slots from row to row
constexpr int slots =
    pitch * (cube + 2) + 4;       ///< of a plane: rows -1 .. 8, and what vectors read beyond; 64 bytes * 18
constexpr int gas_variables = 5;  ///< reconstructed at all points; tracer and species at face centres only

/// Slot of cell (i, j) of a plane, i and j from -1.
constexpr int slot_of(int i, int j) { return (j + 1) * pitch + i + 1; }

/// Slots first .. first + length of `rows` rows.
struct region {
  int first, length, rows;
};

template <class F>
PLX_INLINE void for_slots(const region& r, F f) {
  for (int row = 0; row < r.rows; ++row)
    for (int s = 0; s < r.length; s += lanes) f(r.first + row * pitch + s);
}

/// One of the 13 axes by its step from cell to cell; z is 0 or 1.
struct axis_step {
  int x, y, z;
};
PLX_INLINE std::ptrdiff_t doubles(axis_step d) { return d.x + d.y * pitch + d.z * (pitch * pitch); }

/// Index of the direction (x, y, z) among 27.
PLX_INLINE int point_of(int x, int y, int z) { return 13 + x + 3 * y + 9 * z; }

/// Scratch of a box, in doubles from one base address; every part starts at a multiple of 64 bytes.
struct plane_workspace {
  double* primitive;      ///< [var][z + 2g][y + 2g][x + 2g], edges and corners too
  double* upper[2];       ///< [9][gas variable][slot]: values at points towards +z, of this plane and the one below
  double* other;          ///< [5][gas variable][slot]: values at other points, of one group of axes at a time
  double* sum[3];         ///< [gas variable][slot]: parts of Simpson's sums at the faces across x, y, z
  double* flux[3];        ///< [var][slot]: fluxes through faces across x and y, and through the plane's lower faces
  double* flux_below;     ///< [var][slot]: those of the plane below
  double* difference[3];  ///< [var + 1][z][y][x]; last: the work of gravity
  double* line;           ///< [3][var][lane]: species at one vector of faces
  double* end;
};

constexpr int box_cells = cube * cube * cube;
constexpr int primitive_cells = pitch * pitch * pitch;
constexpr int point_doubles = gas_variables * slots;
constexpr int most_lanes = 8;

PLX_INLINE plane_workspace divide_planes(double* base, int n_var) {
  auto take = [&base](std::ptrdiff_t n) __attribute__((always_inline)) {
    double* part = base;
    base += (n + 7) / 8 * 8;
    return part;
  };
  plane_workspace s{};
  for (double*& u : s.upper) u = take(9 * point_doubles);
  s.other = take(5 * point_doubles);
  for (double*& a : s.sum) a = take(point_doubles);
  for (double*& f : s.flux) f = take(n_var * slots);
  s.flux_below = take(n_var * slots);
  s.line = take(3 * n_var * most_lanes);
  for (double*& d : s.difference) d = take((n_var + 1) * box_cells);
  s.primitive = take(n_var * primitive_cells + 2 * most_lanes);
  s.end = base;
  return s;
}

/// A plane of a box, or one of the two adjacent ones (k = -1 and 8), of which only the points towards the box are
/// needed.
struct plane_task {
  const box_task& box;
  plane_workspace& s;
  int k;
  double* at[27];  ///< by point_of: values at these points of the plane's cells, of the current group

  bool inside() const { return k >= 0 && k < cube; }
  int n_var() const { return box.n_var; }
  /// The primitive variables at slot 0.
  const double* primitives() const { return s.primitive + ((k + g) * pitch + g - 1) * pitch + g - 1; }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
