// Limits that the eight fine cells of a coarse one (a family) have in common, besides the slopes' own limiter: those of
// variables that are interpolated together, and of the internal energy, which they keep positive.
//
// Thread safety: pure. Cost: about 40 operations per variable of a group and coarse cell, 20 per fine cell for the
// energy. One source for the host and devices.
// Example: mesh/between/prolong.cpp, mesh/between/test/positive_family_test.cpp
#pragma once

#include <cstddef>

#include "mesh/field/field_info.hpp"
#include "mesh/field/symmetric.hpp"

namespace plx::mesh {

// ---- variables that are interpolated together (field_info::limiter_group): the slopes of all are the central ones
// times one factor per axis, the smallest that any of them requires, so linear relations between them hold in the
// children of a cell.

/// Differences of a cell to its lower and its upper neighbour along each axis.
struct cell_differences {
  double lower[3], upper[3];
};

/// Offsets of the children from a cell: child 7 (the upper corner) is c + t[0], its opposite 0 is c - t[0]; t[1]: 6 and
/// 1, t[2]: 5 and 2, t[3]: 3 and 4.
struct child_offsets {
  double t[4];

  PLX_MESH_DEVICE void add_to(double c, double (&child)[8]) const {
    child[0] = c - t[0], child[1] = c - t[1], child[2] = c - t[2], child[3] = c + t[3];
    child[4] = c - t[3], child[5] = c + t[2], child[6] = c + t[1], child[7] = c + t[0];
  }
};

PLX_MESH_DEVICE inline double minmod(double a, double b) {
  return larger(0.0, smaller(a, b)) + smaller(0.0, larger(a, b));
}
/// The slope by limiter::central, or by limiter::minmod.
PLX_MESH_DEVICE inline double limited_slope(double lower, double upper, bool central) {
  const double m = minmod(lower, upper);
  return central ? minmod(2.0 * m, 0.5 * (lower + upper)) : m;
}

/// The limit of a group: a factor of the slopes along each axis, and one of the offsets.
struct shared_limit {
  double factor[3] = {1.0, 1.0, 1.0}, scale = 1.0;

  /// Lowers the factors to those that a member of the group requires.
  PLX_MESH_DEVICE void lower_factors(const cell_differences& d, bool central_rule) {
    for (int a = 0; a < 3; ++a) {
      const double central = 0.5 * (d.lower[a] + d.upper[a]), m = limited_slope(d.lower[a], d.upper[a], central_rule);
      if (d.lower[a] != 0.0 || d.upper[a] != 0.0)
        factor[a] = smaller(factor[a], m == 0.0 ? 0.0 : smaller(1.0, m / central));
    }
  }
  /// Lowers the scale so that no child of a member leaves the range of the cell and its neighbours. After all factors.
  PLX_MESH_DEVICE void lower_scale(const cell_differences& d) {
    const child_offsets o = unscaled(d);
    double above = 0.0, below = 0.0, most = 0.0;
    for (int a = 0; a < 3; ++a) {
      above = larger(above, larger(-d.lower[a], d.upper[a]));
      below = larger(below, larger(d.lower[a], -d.upper[a]));
    }
    for (const double t : o.t) most = larger(most, larger(t, -t));
    const double allowed = smaller(above, below);
    scale = smaller(scale, most > allowed ? allowed / most : 1.0);
  }
  /// The offsets of a member's children.
  PLX_MESH_DEVICE child_offsets offsets(const cell_differences& d) const {
    child_offsets o = unscaled(d);
    for (double& t : o.t) t *= scale;
    return o;
  }

 private:
  PLX_MESH_DEVICE child_offsets unscaled(const cell_differences& d) const {
    double s[3];
    for (int a = 0; a < 3; ++a) s[a] = 0.125 * (factor[a] * (d.lower[a] + d.upper[a]));
    return {{sum3(s[0], s[1], s[2]), sum3(-s[0], s[1], s[2]), sum3(s[0], -s[1], s[2]), sum3(s[0], s[1], -s[2])}};
  }
};

/// The limit of a group. Shapes: differences(m): of member m < `members`.
template <class Differences>
PLX_MESH_DEVICE inline shared_limit limit_together(int members, bool central, Differences differences) {
  shared_limit limit;
  for (int m = 0; m < members; ++m) limit.lower_factors(differences(m), central);
  for (int m = 0; m < members; ++m) limit.lower_scale(differences(m));
  return limit;
}

// ---- positive internal energies. The variables of a coarse cell are interpolated one by one, so the total
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
// Source: Zhang & Shu (2010), J. Comput. Phys. 229, 8918, section 2.2, there for the points of a polynomial.

/// The part of the coarse cell's internal energy that a fine cell must keep. Fine cells of positive linear fields keep
/// a quarter.
inline constexpr double kept_internal_energy = 0.1;

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
