// The angular momentum of cells about their centres, at the faces of a line.
//
// A cell's spin l is its angular momentum about its centre x_c, per volume: x_c cross m + l is conserved. The variable
// is s = 12 l / dx^2, which is curl m where the momentum m is linear in the cell. A face at x_f through which the
// momentum flux F flows carries the angular momentum flux x_f cross F + dx^2 / 12 G: both cells get it, and
//   dl/dt = -(1/dx) sum over axes a of [ dx^2 / 12 (G+ - G-) + dx / 2 e_a cross (F+ + F-) ].
// G is the moment of the flux about the centre of the face. Its part from the resolved velocities is the mean of those
// of the two cells (find_spin_at()); the part of the spin that the velocities do not have, s - curl m, moves
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
#include "star/hydro/kernel/kernel_riemann.hpp"
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

/// The fluxes G. `moments`: the first of the variables of find_spin_at() for the faces across this line.
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

// ---- The data of cells that the sweeps need for spin, from central differences D between the
// neighbours of a cell, with velocities v of the inertial frame and u relative to the mesh: - in place of the variables
// of the spin, the rotation dx (s - curl m) / (4 rho), curl m from D(m); - for the faces across each axis n, with n, t,
// b in cyclic order, the moments of the flux P_nb = rho u_n v_b of   momentum about the centre of the face, times 12 /
// dx^2:     n: D_t P_nb - D_b P_nt,   t: D_b P_nn,   b: -D_t P_nn.   The pressure has none: its moments at the six
// faces of a cell cancel, because grad p has no curl.
//
// The cells are those of a box on workers (kernel_block.hpp), of a tile on devices: `Cells` has
//   p, dx(), centres(0, i), centre(1, j)    the parameters, and the places of cells
//   cell(i, j, k), primitive_variable()     their variables
//   spin_at(a, i, j, k)                     component a of s
//   moments_across(n)                       the first of the variables for the moments of the faces across n
//
// Cost: about 150 instructions per cell, for `lanes` cells.

struct moving_gas {
  vd density, relative[3], inertial[3];

  PLX_INLINE vd momentum(int a) const { return density * inertial[a]; }
  /// The flux of momentum b through a face across a, without pressure.
  PLX_INLINE vd flux(int a, int b) const { return density * relative[a] * inertial[b]; }
};

/// `lanes` cells of a row, from i.
template <class Cells>
PLX_INLINE moving_gas gas_at(const Cells& t, int i, int j, int k) {
  const double* w = t.cell(i, j, k);
  moving_gas gas;
  gas.density = load(w + i_density * t.primitive_variable());
  for (int a = 0; a < 3; ++a) gas.relative[a] = gas.inertial[a] = load(w + (i_momentum + a) * t.primitive_variable());
  if (t.p.omega != 0.0) {
    const mesh_velocity mesh = velocity_of_mesh(t.p.omega, t.centres(0, i), all(t.centre(1, j)));
    gas.inertial[0] = gas.inertial[0] + mesh.x, gas.inertial[1] = gas.inertial[1] + mesh.y;
  }
  return gas;
}

template <class Cells>
PLX_INLINE void find_spin_at(const Cells& t, int i, int j, int k) {
  const vd zero = all(0.0), central = all(0.5 / t.dx());
  vd curl[3] = {zero, zero, zero}, moment[3][3] = {{zero, zero, zero}, {zero, zero, zero}, {zero, zero, zero}};
  for (int d = 0; d < 3; ++d) {
    const int q = (d + 1) % 3, p = (d + 2) % 3;
    const moving_gas below = gas_at(t, i - (d == 0), j - (d == 1), k - (d == 2));
    const moving_gas above = gas_at(t, i + (d == 0), j + (d == 1), k + (d == 2));
    auto difference = [&](vd from, vd to) __attribute__((always_inline)) { return central * (to - from); };
    auto of_flux = [&](int a, int b) __attribute__((always_inline)) {
      return difference(below.flux(a, b), above.flux(a, b));
    };
    curl[p] = curl[p] + difference(below.momentum(q), above.momentum(q));
    curl[q] = curl[q] - difference(below.momentum(p), above.momentum(p));
    moment[p][p] = moment[p][p] + of_flux(p, q);
    moment[p][q] = -of_flux(p, p);
    moment[q][q] = moment[q][q] - of_flux(q, p);
    moment[q][p] = of_flux(q, q);
  }
  double* to = t.cell(i, j, k);
  const int spin = variable_count(t.p.n_species);
  const vd scale = all(0.25 * t.dx()) / load(to + i_density * t.primitive_variable());
  for (int a = 0; a < 3; ++a) {
    store(to + (spin + a) * t.primitive_variable(), scale * (t.spin_at(a, i, j, k) - curl[a]));
    for (int n = 0; n < 3; ++n) store(to + (t.moments_across(n) + a) * t.primitive_variable(), moment[n][a]);
  }
}

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
