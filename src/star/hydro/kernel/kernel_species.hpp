// Transport of mass fractions through faces, with the mass flux. Two properties hold to rounding:
// - fractions at a face sum to one: they are divided by their sum;
// - no new extrema: the deviation of the upwind cell's face value from its average is scaled down, by one factor for
//   all
//   species (so the sum is unchanged), such that the remaining mass has a fraction between the averages of the cell and
//   its two neighbours on the line. Reconstruction alone does not ensure this in three directions.
//
// Remaining mass: a cell's mass is divided among its six faces, with larger shares for faster outflow. With share * rho
// for a face with outflow O = dt / dx * |mass flux|, and X_f = X + theta d there, the requirement is
//   m (share rho - O) <= share rho X - O X_f <= M (share rho - O),  m, M: smallest, largest X of the three cells. The
//   new average is then a mean of values of neighbours; so is that of a Runge-Kutta stage, a convex combination. This
//   holds while share rho >= O, that is for up to about 0.8 of a cell's mass flowing out through a face.
//
// Thread safety: pure. Cost: about 25 instructions per species and face, for `lanes` faces; a division where it acts.
// Example: star/hydro/test/species_test.cpp
// Source: the argument of Zhang & Shu (2010), applied per face with the mass fluxes of the Riemann solver.
#pragma once

#include "star/hydro/kernel/kernel_simd.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// A line of n cells in primitive variables, `lanes` lines at a time; w points to cell 0, variable 0. Face values and
/// fluxes are [variable][face][lane].
struct line_view {
  const double* w;
  std::ptrdiff_t cell;      ///< doubles from cell to cell
  std::ptrdiff_t variable;  ///< doubles from variable to variable
  int n;
  double* left;   ///< states below the faces
  double* right;  ///< states above
  double* flux;
  std::ptrdiff_t faces;  ///< doubles from variable to variable in these three
  int normal, t, b;      ///< variables: velocity across the faces, and the two others
};

/// Deviations of the upwind cell's face values from its averages, written in place of the fluxes. Their sum must
/// vanish: of the positive and the negative ones those with the larger sum are scaled down, so each stays between the
/// cells.
PLX_INLINE void balanced_deviations(const line_view& line, int f, int n_species, vm from_above) {
  const double* below = line.w + (f - 1) * line.cell + i_species * line.variable;
  const std::ptrdiff_t first = i_species * line.faces + f * lanes;
  vd zero = all(0.0), up = zero, down = zero;
  for (int s = 0; s < n_species; ++s) {
    const std::ptrdiff_t at = first + s * line.faces;
    vd mean = select(from_above, load(below + s * line.variable + line.cell), load(below + s * line.variable));
    vd d = select(from_above, load(line.right + at), load(line.left + at)) - mean;
    up = up + vmax(d, zero), down = down + vmax(-d, zero);
    store(line.flux + at, d);
  }
  vd ratio = vmin(up, down) / at_least(1e-300, vmax(up, down));
  vd scale_up = select(less(down, up), ratio, all(1.0)), scale_down = select(less(up, down), ratio, all(1.0));
  for (int s = 0; s < n_species; ++s) {
    double* d = line.flux + first + s * line.faces;
    store(d, load(d) * select(less(zero, load(d)), scale_up, scale_down));
  }
}

/// share * rho of the upwind cell for this face, minus the outflow through it; not below zero.
PLX_INLINE vd mass_that_stays(const line_view& line, const double* below, vm from_above, vd leaves) {
  const double* above = below + line.cell;
  auto upwind = [&](int v) __attribute__((always_inline)) {
    return select(from_above, load(above + v * line.variable), load(below + v * line.variable));
  };
  vd vn = upwind(line.normal), zero = all(0.0);
  vd towards = vmax(select(from_above, -vn, vn), zero);
  vd sum = vabs(vn) + (vabs(upwind(line.t)) + vabs(upwind(line.b)));
  vd least = all(0.05) * sum + all(1e-150);
  return vmax((towards + least) / (sum + all(6.0) * least) * upwind(i_density) - leaves, zero);
}

/// Largest theta in [0, 1] for all species at face f.
PLX_INLINE vd common_scale(const line_view& line, int f, int n_species, vm from_above, vd leaves) {
  const double* below = line.w + (f - 1) * line.cell;
  vd stays = mass_that_stays(line, below, from_above, leaves), scale = all(1.0);
  for (int s = 0; s < n_species; ++s) {
    const double* x = below + (i_species + s) * line.variable;
    const std::ptrdiff_t at = (i_species + s) * line.faces + f * lanes;
    vd x0 = load(x), x1 = load(x + line.cell);
    vd mean = select(from_above, x1, x0);
    vd outer = select(from_above, load(x + 2 * line.cell), load(x - line.cell));
    vd d = load(line.flux + at);
    vd low = vmin(vmin(x0, x1), outer), high = vmax(vmax(x0, x1), outer);
    vd room = stays * select(less(d, all(0.0)), high - mean, mean - low), need = leaves * vabs(d);
    vm too_much = less(room, need);
    if (any(too_much)) scale = select(too_much, vmin(scale, room / need), scale);
  }
  return scale;
}

/// Fluxes of all species through the faces of a line; `step` is dt / dx.
PLX_INLINE void species_fluxes(const line_view& line, int n_species, double step) {
  for (int f = 0; f <= line.n; ++f) {
    vd mass = load(line.flux + f * lanes);
    vm from_above = less(mass, all(0.0));
    balanced_deviations(line, f, n_species, from_above);
    vd scale = common_scale(line, f, n_species, from_above, all(step) * vabs(mass));
    for (int s = 0; s < n_species; ++s) {
      const double* x = line.w + (f - 1) * line.cell + (i_species + s) * line.variable;
      double* flux = line.flux + (i_species + s) * line.faces + f * lanes;
      vd mean = select(from_above, load(x + line.cell), load(x));
      store(flux, mass * (mean + scale * load(flux)));
    }
  }
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
