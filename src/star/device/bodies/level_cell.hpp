// Transfer between levels, cell by cell: the mean of eight cells, and the eight children of one. The bits are those of
// the vectors in mesh/between/level_kernels_body.hpp. Children get their values variable by variable, with species the
// density together with the partial densities (mesh/between/family_limits.hpp), and are then limited to positive
// internal energies (mesh/between/family_limits.hpp) family by family.
//
// Thread safety: pure. Cost: 15 and about 60 operations.
// Example: star/device/bodies/ghosts_body.hpp
#pragma once

#include "mesh/between/family_limits.hpp"
#include "star/device/bodies/body.hpp"
#include "star/hydro/kernel/kernel_simd.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

// As in mesh/field/symmetric.hpp: keep their arguments also for NaN and zeros of different sign.
PLX_INLINE double smaller_of(double a, double b) { return a < b ? a : b; }
PLX_INLINE double larger_of(double a, double b) { return a < b ? b : a; }
PLX_INLINE double sum_of_axes(double a, double b, double c) {
  const double lo = smaller_of(a, b), hi = larger_of(a, b);
  const double middle = smaller_of(larger_of(lo, c), hi);
  return (smaller_of(lo, c) + larger_of(hi, c)) + middle;
}

/// The mean of the eight cells from `f` on.
PLX_INLINE double mean_of_eight(const double* f, std::ptrdiff_t row, std::ptrdiff_t plane) {
  const double s0 = f[0] + f[row + plane + 1], s1 = f[1] + f[row + plane];
  const double t0 = f[row] + f[plane + 1], t1 = f[row + 1] + f[plane];
  const double lo0 = smaller_of(s0, t0), hi0 = larger_of(s0, t0), lo1 = smaller_of(s1, t1), hi1 = larger_of(s1, t1);
  const double outer = smaller_of(lo0, lo1) + larger_of(hi0, hi1);
  const double middle = larger_of(lo0, lo1) + smaller_of(hi0, hi1);
  return 0.125 * (outer + middle);
}

PLX_INLINE double axis_minmod(double a, double b) {
  return larger_of(0.0, smaller_of(a, b)) + smaller_of(0.0, larger_of(a, b));
}
PLX_INLINE double quarter_slope(double lower, double upper, bool central) {
  const double m = axis_minmod(lower, upper);
  return central ? 0.25 * axis_minmod(2.0 * m, 0.5 * (lower + upper)) : 0.25 * m;
}

/// The eight children of a cell, bit 0 of the index along x, from it and its six neighbours (x lower, x upper, ...).
PLX_INLINE void children_of(double c, const double (&near)[6], bool central, double (&child)[8]) {
  double lower[3], upper[3], s[3];
  for (int a = 0; a < 3; ++a) {
    lower[a] = c - near[2 * a], upper[a] = near[2 * a + 1] - c;
    s[a] = quarter_slope(lower[a], upper[a], central);
  }
  double t[4] = {sum_of_axes(s[0], s[1], s[2]), sum_of_axes(-s[0], s[1], s[2]), sum_of_axes(s[0], -s[1], s[2]),
                 sum_of_axes(s[0], s[1], -s[2])};
  if (central) {  // scaled back into the range of the cell and its neighbours
    double above = 0.0, below = 0.0, most = 0.0;
    for (int a = 0; a < 3; ++a) above = larger_of(above, -lower[a]), below = larger_of(below, lower[a]);
    for (int a = 0; a < 3; ++a) above = larger_of(above, upper[a]), below = larger_of(below, -upper[a]);
    for (int i = 0; i < 4; ++i) most = larger_of(most, larger_of(t[i], -t[i]));
    const double allowed = smaller_of(above, below);
    const double scale = most > allowed ? allowed / most : 1.0;
    for (int i = 0; i < 4; ++i) t[i] = t[i] * scale;
  }
  child[0] = c - t[0], child[1] = c - t[1], child[2] = c - t[2], child[3] = c + t[3];
  child[4] = c - t[3], child[5] = c + t[2], child[6] = c + t[1], child[7] = c + t[0];
}

/// A cell and its six neighbours: x lower, x upper, ...
struct cell_and_near {
  double centre, near[6];
};
PLX_INLINE cell_and_near cell_and_near_at(const double* c, std::ptrdiff_t row, std::ptrdiff_t plane) {
  return {*c, {c[-1], c[1], c[-row], c[row], c[-plane], c[plane]}};
}

/// Variables that are interpolated together count as one.
PLX_INLINE int groups_of_variables(int n_var, int n_species) { return n_var - n_species; }

/// The children of the variables of one group: put(variable, children). Shapes: at(variable): of the coarse cell.
template <class At, class Put>
PLX_INLINE void children_of_group(int group, int n_species, bool central, At at, Put put) {
  double child[8];
  if (group != i_density || n_species == 0) {
    const int v = group < i_species ? group : group + n_species;
    const cell_and_near c = at(v);
    children_of(c.centre, c.near, central, child);
    return put(v, child);
  }
  const auto variable = [](int m) { return m == 0 ? i_density : i_species + m - 1; };
  const auto differences = [&](int m) {
    const cell_and_near c = at(variable(m));
    mesh::cell_differences d;
    for (int a = 0; a < 3; ++a) d.lower[a] = c.centre - c.near[2 * a], d.upper[a] = c.near[2 * a + 1] - c.centre;
    return d;
  };
  const mesh::shared_limit limit = mesh::limit_together(1 + n_species, central, differences);
  for (int m = 0; m <= n_species; ++m) {
    limit.offsets(differences(m)).add_to(at(variable(m)).centre, child);
    put(variable(m), child);
  }
}

/// Limits a family in place. Shapes: as mesh::keep_internal_energy(), in the order of parameters.hpp.
PLX_INLINE void limit_children(int n_var, const double* coarse, std::ptrdiff_t coarse_variable,
                               double* const (&child)[8], std::ptrdiff_t fine_variable) {
  mesh::keep_internal_energy({i_density, i_momentum, i_energy}, n_var, coarse, coarse_variable, child, fine_variable);
}

/// The same for a family of which only children that are not null are stored: the others are computed again. `row`,
/// `plane`: steps to the neighbours of the coarse cell.
PLX_INLINE void limit_stored_children(int n_var, int n_species, const double* coarse, std::ptrdiff_t row,
                                      std::ptrdiff_t plane, std::ptrdiff_t coarse_variable, bool central,
                                      double* const (&child)[8], std::ptrdiff_t fine_variable) {
  constexpr int gas = 5;
  static_assert(i_energy < gas && i_momentum + 2 < gas && i_density < gas);
  double all[gas][8];
  for (int group = 0; group < gas; ++group)
    children_of_group(
        group, n_species, central, [&](int v) { return cell_and_near_at(coarse + v * coarse_variable, row, plane); },
        [&](int v, const double(&of)[8]) {
          for (int d = 0; v < gas && d < 8; ++d) all[v][d] = of[d];
        });
  double* family[8];
  for (int d = 0; d < 8; ++d) family[d] = &all[0][d];
  const mesh::gas_places places{i_density, i_momentum, i_energy};
  const double factor = mesh::family_factor(places, coarse, coarse_variable, family, 8);
  mesh::draw_family(factor, n_var, coarse, coarse_variable, child, fine_variable);
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
