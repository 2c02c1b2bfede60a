// One direction of a stage on `lanes` parallel lines of cells: reconstruct, solve, and difference the fluxes. The same
// code for x, y and z: the caller passes the strides of cells and variables and the normal velocity.
//
// Thread safety: writes scratch and its outputs only. Cost: for HLLC and PPM about 270 instructions per cell, `lanes`
// cells at a time.
// Example: star/hydro/test/stage_test.cpp
#pragma once

#include "star/hydro/kernel/kernel_positive.hpp"
#include "star/hydro/kernel/kernel_reconstruct.hpp"
#include "star/hydro/kernel/kernel_species.hpp"
#include "star/hydro/kernel/kernel_spin.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// Output of a sweep: differences F[c + 1] - F[c] of the conserved variables, and the fluxes at the ends if requested.
struct sweep_output {
  double* difference;
  std::ptrdiff_t cell, variable;  ///< doubles from cell to cell, from variable to variable
  double* lower_flux;             ///< or nullptr
  double* upper_flux;
  std::ptrdiff_t flux_variable;
  const double* potential;  ///< of cell 0, or nullptr; from cell to cell as the primitive variables
};

/// The place of a line; for hydro_parameters::omega: x and y of its cells, if they are the same along the line, and the
/// place and the index of its first face.
struct line_place {
  vd x, y;
  const block_place& block;
  int face;
};

PLX_INLINE face_state load_state(const double* side, const line_view& line, int f) {
  auto at = [&](int v) __attribute__((always_inline)) { return load(side + v * line.faces + f * lanes); };
  return {at(i_density), at(line.normal), at(line.t), at(line.b), at(i_energy)};
}

/// Averages of cell c of the line.
PLX_INLINE face_state cell_of(const line_view& line, int c) {
  const double* w = line.w + c * line.cell;
  auto at = [&](int v) __attribute__((always_inline)) { return load(w + v * line.variable); };
  return {at(i_density), at(line.normal), at(line.t), at(line.b), at(i_energy)};
}

PLX_INLINE face_flux load_flux(const line_view& line, int f) {
  auto at = [&](int v) __attribute__((always_inline)) { return load(line.flux + v * line.faces + f * lanes); };
  return {at(i_density), at(line.normal), at(line.t), at(line.b), at(i_energy)};
}

PLX_INLINE void store_flux(const line_view& line, int f, const face_flux& flux) {
  double* to = line.flux + f * lanes;
  store(to + i_density * line.faces, flux.mass);
  store(to + line.normal * line.faces, flux.n);
  store(to + line.t * line.faces, flux.t);
  store(to + line.b * line.faces, flux.b);
  store(to + i_energy * line.faces, flux.energy);
}

/// Limits the flux of the gas through face f where needed. The tracer there is that of the upwind cell's average.
template <bool skip_similar, class Eos>
[[gnu::noinline]] PLX_DEVICE void limit_face(const line_view& line, int f, Eos eos, double step) {
  face_flux flux = load_flux(line, f);
  const vm limited = keep_positive<skip_similar>(cell_of(line, f - 1), cell_of(line, f), eos, step, flux);
  if (!any(limited)) return;
  store_flux(line, f, flux);
  const double* tracer = line.w + i_tracer * line.variable + (f - 1) * line.cell;
  double* to = line.flux + i_tracer * line.faces + f * lanes;
  vd upwind = select(less(flux.mass, all(0.0)), load(tracer + line.cell), load(tracer));
  store(to, select(limited, flux.mass * upwind, load(to)));
}

template <riemann_solver solver, class Eos>
PLX_INLINE void gas_fluxes(const line_view& line, const Eos& eos) {
  for (int f = 0; f <= line.n; ++f) {
    face_flux flux = solve<solver>(load_state(line.left, line, f), load_state(line.right, line, f), eos);
    store_flux(line, f, flux);
    const std::ptrdiff_t tracer = i_tracer * line.faces + f * lanes;
    vd upwind = select(less(flux.mass, all(0.0)), load(line.right + tracer), load(line.left + tracer));
    store(line.flux + tracer, flux.mass * upwind);
  }
}

/// Makes fluxes through moving faces those of the inertial frame.
PLX_INLINE void add_motion(const line_view& line, double omega, const line_place& place) {
  const int axis = line.normal - i_momentum;
  for (int f = 0; f <= line.n; ++f) {
    const vd along = all(axis < 2 ? place.block.face(axis, place.face + f) : 0.0);
    const mesh_velocity w = velocity_of_mesh(omega, axis == 0 ? along : place.x, axis == 1 ? along : place.y);
    store_flux(line, f, in_inertial_frame(load_flux(line, f), axis, w));
  }
}

/// Limits the fluxes of a line to positive updates; `step` is dt / dx.
template <bool skip_similar, class Eos>
PLX_INLINE void limit_fluxes(const line_view& line, const Eos& eos, double step) {
  face_state below = cell_of(line, -1);
  for (int f = 0; f <= line.n; ++f) {
    const face_state above = cell_of(line, f);
    if (!skip_similar || any(differ_much(below, above, eos))) limit_face<skip_similar>(line, f, eos, step);
    below = above;
  }
}

PLX_INLINE void difference_fluxes(const line_view& line, int n_var, const sweep_output& out) {
  for (int v = 0; v < n_var; ++v) {
    const double* flux = line.flux + v * line.faces;
    double* d = out.difference + v * out.variable;
    vd below = load(flux);
    if (out.lower_flux) store(out.lower_flux + v * out.flux_variable, below);
    for (int c = 0; c < line.n; ++c) {
      vd above = load(flux + (c + 1) * lanes);
      store(d + c * out.cell, above - below);
      below = above;
    }
    if (out.upper_flux) store(out.upper_flux + v * out.flux_variable, below);
  }
}

/// The work of gravity in each cell, as one more variable.
PLX_INLINE void sum_work(const line_view& line, int n_var, const sweep_output& out) {
  auto momentum = [&](int c) __attribute__((always_inline)) {
    const double* w = line.w + c * line.cell;
    return load(w) * load(w + line.normal * line.variable);
  };
  double* to = out.difference + n_var * out.variable;
  const double* at = out.potential;
  vd phi[4] = {load(at - 2 * line.cell), load(at - line.cell), load(at), load(at + line.cell)},
     momentum_below = momentum(-1);
  vd share = all(0.0);
  for (int f = 0; f <= line.n; ++f) {
    const vd momentum_above = momentum(f);
    const face_work work = work_of(load(line.flux + f * lanes), momentum_above - momentum_below, phi);
    if (f > 0) store(to + (f - 1) * out.cell, share + work.below);
    share = work.above, momentum_below = momentum_above;
    phi[0] = phi[1], phi[1] = phi[2], phi[2] = phi[3];
    if (f < line.n) phi[3] = load(at + (f + 2) * line.cell);
  }
}

template <reconstruction scheme, bool positive>
PLX_INLINE void reconstruct_variable(const line_view& line, int v) {
  reconstruct_line<scheme, positive>(line.w + v * line.variable, line.cell, line.n, line.left + v * line.faces,
                                     line.right + v * line.faces);
}

template <reconstruction scheme, riemann_solver solver, class Eos>
PLX_DEVICE void sweep(const hydro_parameters& p, const line_view& line, double step, const line_place& place,
                      const sweep_output& out) {
  const Eos eos(p.eos);
  const int n_var = variable_count(p), spin = variable_count(p.n_species);
  for (int v = 0; v < i_species; ++v)
    if (v > i_density && v < i_energy)  // velocities
      reconstruct_variable<scheme, false>(line, v);
    else
      reconstruct_variable<scheme, true>(line, v);
  // The bound on the fractions (kernel_species.hpp) requires face values between the two cells, which MP5 does not
  // ensure.
  constexpr reconstruction species_scheme = scheme == reconstruction::mp5 ? reconstruction::ppm : scheme;
  for (int v = i_species; v < spin; ++v) reconstruct_variable<species_scheme, true>(line, v);
  if (p.spin) turn_velocities(line, spin);
  gas_fluxes<solver>(line, eos);
  limit_fluxes<skips_similar<scheme>>(line, eos, step);
  if (p.n_species > 0) species_fluxes(line, p.n_species, step);
  if (p.omega != 0.0) add_motion(line, p.omega, place);
  if (p.spin) spin_fluxes(line, spin, n_var + 1 + 3 * (line.normal - i_momentum), place.block.dx);
  difference_fluxes(line, n_var, out);
  if (p.spin) add_moments(line, spin, place.block.dx, out.difference, out.cell, out.variable);
  if (out.potential) sum_work(line, n_var, out);
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
