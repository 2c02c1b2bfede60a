// One limiter for variables that are interpolated together (mesh::variable::share_limiter): the slopes of all are the
// central ones times one factor per axis, the smallest that any of them requires, so linear relations between them hold
// in the children of a cell.
//
// Thread safety: pure. Cost: about 40 operations per variable of the group and coarse cell. One source for the host and
// devices.
// Example: mesh/between/prolong.cpp
#pragma once

#include "mesh/field/symmetric.hpp"

namespace plx::mesh {

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

}  // namespace plx::mesh
