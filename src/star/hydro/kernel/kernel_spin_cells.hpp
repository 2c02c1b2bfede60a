// The data of cells that the sweeps need for spin (kernel_spin.hpp), from central differences D between
// the neighbours of a cell, with velocities v of the inertial frame and u relative to the mesh:
// - in place of the variables of the spin, the rotation dx (s - curl m) / (4 rho), curl m from D(m);
// - for the faces across each axis n, with n, t, b in cyclic order, the moments of the flux P_nb = rho u_n v_b of
//   momentum about the centre of the face, times 12 / dx^2:
//     n: D_t P_nb - D_b P_nt,   t: D_b P_nn,   b: -D_t P_nn.
//   The pressure has none: its moments at the six faces of a cell cancel, because grad p has no curl.
//
// The cells are those of a box on workers (kernel_block.hpp), of a tile on devices: `Cells` has
//   p, dx(), centres(0, i), centre(1, j)    the parameters, and the places of cells
//   cell(i, j, k), primitive_variable()     their variables
//   spin_at(a, i, j, k)                     component a of s
//   moments_across(n)                       the first of the variables for the moments of the faces across n
//
// Thread safety: writes scratch. Cost: about 150 instructions per cell, for `lanes` cells.
// Example: star/hydro/test/spin_test.cpp
#pragma once

#include "star/hydro/kernel/kernel_riemann.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

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
