// The spin of cells on meshes of several levels, computed by workers and by a device's kernels from the same text: with
// hydro_parameters::spin, a cell has the angular momentum x cross m + l per volume, x its centre and m its momentum.
// The variable is 12 l / dx^2, which does not depend on dx where the velocity is smooth
// (star/hydro/kernel/kernel_spin.hpp). Fluxes and new blocks account for the part x cross m that changes with the place
// of a face or a cell, so that the total is conserved to rounding on a refined mesh.
//
// Thread safety: pure. Cost: some ns per cell.
// Example: star/state/gas.cpp
#pragma once

#include <cstddef>

#include "mesh/field/symmetric.hpp"
#include "star/hydro/parameters.hpp"

namespace plx::star::device {

/// The far side of a face of a block whose fluxes are used outside of the block.
enum class face_to : int { finer, coarser, side };

/// Completes a flux of the spin: to share * G + r cross F, with the flux F of momentum.
struct spin_arm {
  double share = 1.0, r[3] = {};

  PLX_DEVICE void complete(const double (&momentum)[3], double (&g)[3]) const {
    for (int x = 0; x < 3; ++x) {
      const int y = (x + 1) % 3, z = (x + 2) % 3;
      g[x] = share * g[x] + (r[y] * momentum[z] - r[z] * momentum[y]);
    }
  }
};

/// The arm of cell (a, b) of a face, the faster axis first: to blocks of another level it makes the flux that of
/// angular momentum about the centre of the cell of the coarser block, times 12 / dx^2 of that block; at a face of the
/// domain, that of angular momentum about the origin.
PLX_DEVICE inline spin_arm arm_of_flux(face_to to, int face, int n, const block_place& place, int a, int b) {
  const int normal = face / 2, axis_a = normal == 0 ? 1 : 0, axis_b = normal == 2 ? 1 : 2;
  const bool upper = face % 2 != 0;
  const double outward = upper ? 1.0 : -1.0, dx = place.dx;
  spin_arm arm;
  switch (to) {
    case face_to::finer:
      arm.r[normal] = outward * (6.0 / dx);
      break;
    case face_to::coarser:
      arm.share = 0.25;
      arm.r[normal] = -outward * (3.0 / dx);
      arm.r[axis_a] = (a % 2 == 0 ? -1.5 : 1.5) / dx, arm.r[axis_b] = (b % 2 == 0 ? -1.5 : 1.5) / dx;
      break;
    case face_to::side:
      arm.share = dx * dx / 12.0;
      arm.r[normal] = place.centre(normal, upper ? n - 1 : 0) + outward * (0.5 * dx);
      arm.r[axis_a] = place.centre(axis_a, a), arm.r[axis_b] = place.centre(axis_b, b);
      break;
  }
  return arm;
}

/// Eight cells that replace one, or that one replaces: the angular momentum that interpolation has put into x cross m,
/// or that a mean has taken from it, is taken from the spin of the same cells, or put there. With the moment M of their
/// momenta about their common centre, fine cells of a coarse cell with l have the mean l - M.
struct cell_family {
  const double* first;  ///< the lowest of them, variable 0
  std::ptrdiff_t j, k, variable;

  PLX_DEVICE double sum(int v, int axis_of_sign) const {
    double x[8];
    for (int c = 0; c < 8; ++c) {
      const double value = first[v * variable + (c & 1) + (c >> 1 & 1) * j + (c >> 2) * k];
      x[c] = axis_of_sign < 0 || (c >> axis_of_sign & 1) != 0 ? value : -value;
    }
    return mesh::sum8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
  }
  PLX_DEVICE double mean(int v) const { return 0.125 * sum(v, -1); }
  /// Per width of these cells; offsets are +-1/2.
  PLX_DEVICE double moment(int axis) const {
    const int y = (axis + 1) % 3, z = (axis + 2) % 3;
    return 0.0625 * (sum(i_momentum + z, y) - sum(i_momentum + y, z));
  }
  /// The amount added to the spin of each of them after interpolation. `dx`: their width; `spin`: the first variable.
  PLX_DEVICE double change(int spin, int axis, double dx) const {
    return 3.0 * mean(spin + axis) - (12.0 / dx) * moment(axis);
  }
  /// The spin of the cell that replaces them.
  PLX_DEVICE double merged(int spin, int axis, double dx) const {
    return 0.25 * mean(spin + axis) + (3.0 / dx) * moment(axis);
  }
};

/// Adds the change after interpolation to a family. Shapes: first: of the family, variable 0, of a block of n^3 cells.
PLX_DEVICE inline void change_family(double* first, int n, int spin, double dx) {
  const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(n) * n;
  const cell_family cells{first, n, plane, plane * n};
  for (int a = 0; a < 3; ++a) {
    const double change = cells.change(spin, a, dx);
    double* to = first + (spin + a) * cells.variable;
    for (int c = 0; c < 8; ++c) to[(c & 1) + (c >> 1 & 1) * cells.j + (c >> 2) * cells.k] += change;
  }
}

/// Angular momentum per volume about the origin of cell `c` of a block, one component. Shapes: u: [variable][n][n][n].
PLX_DEVICE inline double angular_momentum_of(const block_place& place, int n, const double* u, int spin, int component,
                                             int c) {
  const int cells = n * n * n, y = (component + 1) % 3, z = (component + 2) % 3;
  const int at[3] = {c % n, c / n % n, c / (n * n)};
  const double per_spin = place.dx * place.dx / 12.0;
  const double in_y = u[(i_momentum + y) * cells + c], in_z = u[(i_momentum + z) * cells + c];
  return (place.centre(y, at[y]) * in_z - place.centre(z, at[z]) * in_y) + per_spin * u[(spin + component) * cells + c];
}

}  // namespace plx::star::device
