// Positive internal energies in prolongation. The variables of a coarse cell are interpolated one by one, so the total
// energy of a fine cell may be less than its kinetic energy. Then all fine cells of the coarse one are drawn towards it
// by one factor, the largest that leaves each of them a part of its internal energy. Sums over the eight do not change,
// so what is conserved stays conserved, and linear relations between variables (the partial densities of species) hold.
// Families in which each cell keeps enough, such as those of any linear field, keep their bits.
//
// The factor is the smallest over all eight, also where only some of them are wanted (the third layer of ghost cells):
// so a fine cell is a function of the coarse cells alone, and equal in all blocks whose ghost cell it is.
//
// The internal energy per volume, E - |m|^2 / (2 rho), is a concave function of rho, m and E: between the coarse cell
// and a fine one it is at least the linear interpolation, from which the factor follows. Densities need no factor: the
// slopes' limiter keeps them between the coarse cell and its neighbours.
//
// Thread safety: pure. Cost: about 20 operations per fine cell. One source for the host and devices.
// Example: mesh/between/test/positive_family_test.cpp
// Source: Zhang & Shu (2010), J. Comput. Phys. 229, 8918, section 2.2, there for the points of a polynomial.
#pragma once

#include <cstddef>

#include "mesh/field/symmetric.hpp"

namespace plx::mesh {

/// The part of the coarse cell's internal energy that a fine cell must keep. Fine cells of positive linear fields keep
/// a quarter.
inline constexpr double kept_internal_energy = 0.1;

/// Which variables the density, the first component of the momentum and the total energy are.
struct gas_places {
  int density = 0, momentum = 1, energy = 4;
};

/// Twice the kinetic energy times the density, and the internal energy. Shapes: u: `variable` doubles apart.
PLX_MESH_DEVICE inline double momentum_squared(const gas_places& at, const double* u, std::ptrdiff_t variable) {
  const double* m = u + at.momentum * variable;
  return sum3(m[0] * m[0], m[variable] * m[variable], m[2 * variable] * m[2 * variable]);
}
PLX_MESH_DEVICE inline double internal_energy(const gas_places& at, const double* u, std::ptrdiff_t variable) {
  return u[at.energy * variable] - 0.5 * momentum_squared(at, u, variable) / u[at.density * variable];
}

/// The factor for a family, 1 if none of its cells has too little.
/// Shapes: coarse: `coarse_variable` doubles apart; fine[c], c = x + 2 y + 4 z: `fine_variable` doubles apart.
PLX_MESH_DEVICE inline double family_factor(const gas_places& at, const double* coarse, std::ptrdiff_t coarse_variable,
                                            double* const (&fine)[8], std::ptrdiff_t fine_variable) {
  const double here = internal_energy(at, coarse, coarse_variable);
  const double room = (1.0 - kept_internal_energy) * larger(here, 0.0);
  double factor = 1.0;
  for (int c = 0; c < 8; ++c) {
    const double drop = here - internal_energy(at, fine[c], fine_variable);
    if (drop > room) factor = smaller(factor, room / drop);
  }
  return factor;
}

/// Draws those fine cells that are not null towards the coarse one. Shapes: as above.
PLX_MESH_DEVICE inline void draw_family(double factor, int n_var, const double* coarse, std::ptrdiff_t coarse_variable,
                                        double* const (&fine)[8], std::ptrdiff_t fine_variable) {
  if (factor == 1.0) return;
  for (int c = 0; c < 8; ++c) {
    if (fine[c] == nullptr) continue;
    for (int v = 0; v < n_var; ++v) {
      const double from = coarse[v * coarse_variable];
      double& to = fine[c][v * fine_variable];
      to = from + factor * (to - from);
    }
  }
}

/// Limits a family, all of whose cells are stored.
PLX_MESH_DEVICE inline void keep_internal_energy(const gas_places& at, int n_var, const double* coarse,
                                                 std::ptrdiff_t coarse_variable, double* const (&fine)[8],
                                                 std::ptrdiff_t fine_variable) {
  const double factor = family_factor(at, coarse, coarse_variable, fine, fine_variable);
  draw_family(factor, n_var, coarse, coarse_variable, fine, fine_variable);
}

}  // namespace plx::mesh
