// The angular momentum of cells about their centres, at the faces of a line.
//
// A cell's spin l is its angular momentum about its centre x_c, per volume: x_c cross m + l is conserved. The variable
// is s = 12 l / dx^2, which is curl m where the momentum m is linear in the cell. A face at x_f through which the
// momentum flux F flows carries the angular momentum flux x_f cross F + dx^2 / 12 G: both cells get it, and
//   dl/dt = -(1/dx) sum over axes a of [ dx^2 / 12 (G+ - G-) + dx / 2 e_a cross (F+ + F-) ].
// G is the moment of the flux about the centre of the face. Its part from the resolved velocities is the mean of those
// of the two cells (kernel_spin_cells.hpp); the part of the spin that the velocities do not have, s - curl m, moves
// with the mass, from upwind.
//
// That part is also given back to the velocities: as a rotation of each cell, with the angular velocity
// (s - curl m) / (2 rho), which changes the tangential velocities at faces. They change by at most half the limited
// slope of the cell, and stay between the values that they had without it and those of the two cells' averages, so
// positivity and monotonicity are those of the reconstruction.
//
// Thread safety: pure. Cost: 60 instructions per face, for `lanes` faces. Example: star/hydro/test/spin_test.cpp
// Source: Despres & Labourasse (2015), J. Comput. Phys. 290, 28, for the spin as a variable and its use in the
// reconstruction; the fluxes are our own.
#pragma once

#include "star/hydro/kernel/kernel_reconstruct.hpp"
#include "star/hydro/kernel/kernel_species.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// In the lines of primitive variables, the variables of the spin are the velocities at dx / 2 of this rotation, by
/// axis: dx (s - curl m) / (4 rho).
PLX_INLINE const double* rotation_about(const line_view& line, int spin, int velocity, int c) {
  return line.w + (spin + velocity - i_momentum) * line.variable + c * line.cell;
}

/// `value` plus `change`, where that is at most `most` and stays between `value` and the averages a and b.
PLX_INLINE vd changed_within(vd value, vd change, vd most, vd a, vd b) {
  return clamp(value + clamp(change, -most, most), vmin(value, vmin(a, b)), vmax(value, vmax(a, b)));
}

/// Adds the rotation of the cells to the tangential velocities on both sides of the faces.
PLX_INLINE void turn_velocities(const line_view& line, int spin) {
  auto turn = [&](int velocity, int axis, double sign) __attribute__((always_inline)) {
    const double* w = line.w + velocity * line.variable;
    vd below = load(w - 2 * line.cell), q = load(w - line.cell);
    for (int c = -1; c <= line.n; ++c) {
      const vd above = load(w + (c + 1) * line.cell), most = vabs(half_slope(q - below, above - q));
      const vd change = all(sign) * load(rotation_about(line, spin, axis, c));
      double *right = line.right + velocity * line.faces + c * lanes,
             *left = line.left + velocity * line.faces + (c + 1) * lanes;
      if (c >= 0) store(right, changed_within(load(right), -change, most, below, q));
      if (c < line.n) store(left, changed_within(load(left), change, most, q, above));
      below = q, q = above;
    }
  };
  turn(line.t, line.b, 1.0);
  turn(line.b, line.t, -1.0);
}

/// The fluxes G. `moments`: the first of the variables of kernel_spin_cells.hpp for the faces across this line.
PLX_INLINE void spin_fluxes(const line_view& line, int spin, int moments, double dx) {
  const vd half = all(0.5), per_dx = all(4.0 / dx);
  for (int f = 0; f <= line.n; ++f) {
    const vd mass = load(line.flux + i_density * line.faces + f * lanes);
    const vm from_above = less(mass, all(0.0));
    for (int a = 0; a < 3; ++a) {
      const double* rotation = rotation_about(line, spin, i_momentum + a, f - 1);
      const double* moment = line.w + (moments + a) * line.variable + (f - 1) * line.cell;
      const vd upwind = select(from_above, load(rotation + line.cell), load(rotation));
      store(line.flux + (spin + a) * line.faces + f * lanes,
            half * (load(moment) + load(moment + line.cell)) + mass * (per_dx * upwind));
    }
  }
}

/// Adds the moments of the momentum fluxes about the centres of the cells to the differences of G.
PLX_INLINE void add_moments(const line_view& line, int spin, double dx, double* difference, std::ptrdiff_t cell,
                            std::ptrdiff_t variable) {
  const vd arm = all(6.0 / dx);
  double *t = difference + (spin + line.t - i_momentum) * variable,
         *b = difference + (spin + line.b - i_momentum) * variable;
  for (int c = 0; c < line.n; ++c) {
    auto both_faces = [&](int v) __attribute__((always_inline)) {
      const double* flux = line.flux + v * line.faces + c * lanes;
      return load(flux) + load(flux + lanes);
    };
    store(t + c * cell, load(t + c * cell) - arm * both_faces(line.b));
    store(b + c * cell, load(b + c * cell) + arm * both_faces(line.t));
  }
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
