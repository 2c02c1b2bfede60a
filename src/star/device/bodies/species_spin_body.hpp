// The species in a Runge-Kutta stage as a body, after the stage of the gas: a group advances a box of 8^3 cells of a
// block. It computes what the sweeps and update_cells() compute for them.
//
// Phase 0: each of the 192 threads walks one line of the box, and stores the fluxes of all species through its faces,
// with the mass fluxes that the stage of the gas has kept (kept_flux()). Phase 1 updates the cells; their density is
// the new one.
//
// Thread safety: as bodies. Cost: about 150 operations per species and cell; global memory: some 300 bytes.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include "star/device/bodies/stage_box.hpp"
#include "star/device/data/spin_rule.hpp"
#include "star/hydro/kernel/kernel_reconstruct.hpp"
#include "star/hydro/kernel/kernel_species.hpp"
#include "star/hydro/kernel/kernel_spin.hpp"

namespace plx::star::PLX_HYDRO_ISA {

namespace {

/// Bodies that follow the stage of the gas: walk() takes the lines of a box, then update() its cells.
template <class Body>
struct box_body {
  using arguments = device::stage_arguments;
  static constexpr int threads = 3 * box_lines, phases = 2, groups_per_unit = 4;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return count_boxes(a); }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    if (a.control->stopped != 0) return;
    const stage_box b = box_of(a, group);
    if constexpr (phase == 0) Body::walk(a, b, thread);
    if constexpr (phase == 1) Body::update(a, b, thread);
  }
};

struct species_body : box_body<species_body> {
  // ---- phase 0
  PLX_INLINE static void walk(const arguments& a, const stage_box& b, int thread) {
    const int axis = thread / box_lines, s = thread % box_edge, t = thread / box_edge % box_edge;
    const int n_species = a.hydro.n_species;
    const std::ptrdiff_t cell = tile_step(a, axis), variable = tile_volume(a), area = std::ptrdiff_t{a.n} * a.n;
    const double *first = tile_line(a, b, axis, s, t), dt_dx = a.control->dt / b.block.place.dx;
    constexpr int most = i_species + max_species;
    double left[most], right[most], flux[most];  // of one face
    PLX_NO_UNROLL
    for (int c = 0; c <= box_edge; ++c) {
      const line_view line{first + c * cell,
                           cell,
                           variable,
                           0,
                           left,
                           right,
                           flux,
                           1,
                           i_velocity + axis,
                           i_velocity + (axis + 1) % 3,
                           i_velocity + (axis + 2) % 3};
      PLX_NO_UNROLL
      for (int v = i_species; v < i_species + n_species; ++v) reconstruct(a.hydro, line, v);
      flux[i_density] = *kept_flux(a, b, 0, axis, c, s, t);
      species_fluxes(line, n_species, dt_dx);
      double* const at_face = c == 0          ? flux_at_face(a, b, axis, s, t, false)
                              : c == box_edge ? flux_at_face(a, b, axis, s, t, true)
                                              : nullptr;
      for (int x = 0; x < n_species; ++x) {
        *kept_flux(a, b, device::kept_species(a.hydro) + x, axis, c, s, t) = flux[i_species + x];
        if (at_face != nullptr) at_face[(i_species + x) * area] = flux[i_species + x];
      }
    }
  }

  // As sweep() and complete_fluxes() choose it.
  PLX_INLINE static void reconstruct(const hydro_parameters& p, const line_view& line, int v) {
    const double* q = line.w + v * line.variable;
    if (p.scheme == hydro_scheme::faces && p.reconstruct == reconstruction::plm)
      reconstruct_line<reconstruction::plm>(q, line.cell, 0, line.left + v, line.right + v);
    else
      reconstruct_line<reconstruction::ppm>(q, line.cell, 0, line.left + v, line.right + v);
  }

  // ---- phase 1
  PLX_INLINE static void update(const arguments& a, const stage_box& b, int thread) {
    const int n_species = a.hydro.n_species;
    const std::ptrdiff_t volume = std::ptrdiff_t{a.n} * a.n * a.n;
    const double step = a.control->dt / b.block.place.dx, weight = a.weight;
    tally sums;
    for (int e = thread; e < box_cells; e += threads) {
      const int i = e % box_edge, j = e / box_edge % box_edge, k = e / box_lines;
      const int cell = ((b.z0 + k) * a.n + b.y0 + j) * a.n + b.x0 + i;
      const std::ptrdiff_t at = b.block.values + cell;
      double finite = 0.0;
      for (int x = 0; x < n_species; ++x) {
        const int v = device::kept_species(a.hydro) + x;
        const double dx = *kept_flux(a, b, v, 0, i + 1, j, k) - *kept_flux(a, b, v, 0, i, j, k);
        const double dy = *kept_flux(a, b, v, 1, j + 1, i, k) - *kept_flux(a, b, v, 1, j, i, k);
        const double dz = *kept_flux(a, b, v, 2, k + 1, i, j) - *kept_flux(a, b, v, 2, k, i, j);
        const std::ptrdiff_t place = at + (i_species + x) * volume;
        const double u = a.source[place], u_old = a.u_old[place];
        const double u_new = u_old + weight * ((u - u_old) - step * sum3(dx, dy, dz));
        a.target[place] = u_new;
        finite = finite + u_new * 0.0;
      }
      settle_species(
          a.target + at, volume, n_species, a.target[at], every_lane,
          [&] { return target_of_group(a.added, b.group, a.hydro, b.block.place.dx, nullptr); }, sums);
      if (not_less(vabs(finite), 1.0)) lower_to(&a.reports[b.position].bad, device::bad_key(a.stage, 0, cell));
    }
    if (sums.added_terms != 0) add_to(&a.reports[b.position].added_terms, static_cast<std::uint64_t>(sums.added_terms));
  }
};

// ---- The spin of cells in a Runge-Kutta stage as a body, after the stage of the gas: a group advances a box of 8^3
// cells of a block. It computes what spin_fluxes(), add_moments(), update_cells() and complete_spin_flux() compute.
//
// Phase 0: each of the 192 threads walks one line of the box, and stores the fluxes of the spin through its faces, with
// the fluxes of mass and momentum that the stage of the gas has kept. Phase 1 updates the cells.
//
// Cost: about 400 operations per cell; global memory: some 600 bytes.

struct spin_body : box_body<spin_body> {
  // ---- phase 0
  PLX_INLINE static void walk(const arguments& a, const stage_box& b, int thread) {
    const int axis = thread / box_lines, s = thread % box_edge, t = thread / box_edge % box_edge;
    const int spin = spin_variable(a.hydro), moments = device::tile_moments_across(a.hydro, axis);
    const std::ptrdiff_t cell = tile_step(a, axis);
    const double* first = tile_line(a, b, axis, s, t);
    double flux[i_species + max_species + spin_variables];  // of one face
    PLX_NO_UNROLL
    for (int c = 0; c <= box_edge; ++c) {
      flux[i_density] = *kept_flux(a, b, 0, axis, c, s, t);
      spin_fluxes({first + c * cell, cell, tile_volume(a), 0, nullptr, nullptr, flux, 1, i_velocity + axis,
                   i_velocity + (axis + 1) % 3, i_velocity + (axis + 2) % 3},
                  spin, moments, b.block.place.dx);
      const double g[3] = {flux[spin], flux[spin + 1], flux[spin + 2]};
      for (int x = 0; x < 3; ++x) *kept_flux(a, b, device::kept_spin(a.hydro) + x, axis, c, s, t) = g[x];
      if (c == 0 || c == box_edge) keep_at_face(a, b, axis, s, t, c != 0, g);
    }
  }

  /// Stores the completed flux at an end of a line, if it is requested.
  PLX_INLINE static void keep_at_face(const arguments& a, const stage_box& b, int axis, int s, int t, bool upper,
                                      const double (&flux)[3]) {
    double* const out = flux_at_face(a, b, axis, s, t, upper);
    if (out == nullptr) return;
    const int face = 2 * axis + (upper ? 1 : 0), c = upper ? box_edge : 0;
    const device::ghost_source& across = b.block.face[face];
    const device::face_to to = across.kind != device::ghosts_from::slab ? device::face_to::side
                               : across.finer != 0                      ? device::face_to::finer
                                                                        : device::face_to::coarser;
    double g[3] = {flux[0], flux[1], flux[2]}, momentum[3];
    for (int x = 0; x < 3; ++x) momentum[x] = *kept_flux(a, b, 1 + x, axis, c, s, t);
    device::arm_of_flux(to, face, a.n, b.block.place, (axis == 0 ? b.y0 : b.x0) + s, (axis == 2 ? b.y0 : b.z0) + t)
        .complete(momentum, g);
    const std::ptrdiff_t area = std::ptrdiff_t{a.n} * a.n;
    for (int x = 0; x < 3; ++x) out[(spin_variable(a.hydro) + x) * area] = g[x];
  }

  // ---- phase 1
  PLX_INLINE static void update(const arguments& a, const stage_box& b, int thread) {
    const std::ptrdiff_t volume = std::ptrdiff_t{a.n} * a.n * a.n;
    const double step = a.control->dt / b.block.place.dx, weight = a.weight;
    for (int e = thread; e < box_cells; e += threads) {
      const int i = e % box_edge, j = e / box_edge % box_edge, k = e / box_lines;
      const int cell = ((b.z0 + k) * a.n + b.y0 + j) * a.n + b.x0 + i;
      double d[3][3], finite = 0.0;
      difference(a, b, 0, i, j, k, d[0]);
      difference(a, b, 1, j, i, k, d[1]);
      difference(a, b, 2, k, i, j, d[2]);
      for (int x = 0; x < 3; ++x) {
        const std::ptrdiff_t place = b.block.values + (spin_variable(a.hydro) + x) * volume + cell;
        const double u = a.source[place], u_old = a.u_old[place];
        const double u_new = u_old + weight * ((u - u_old) - step * sum3(d[0][x], d[1][x], d[2][x]));
        a.target[place] = u_new;
        finite = finite + u_new * 0.0;
      }
      if (not_less(vabs(finite), 1.0)) lower_to(&a.reports[b.position].bad, device::bad_key(a.stage, 0, cell));
    }
  }

  /// The differences of the fluxes of the spin of cell c of the line (s, t), with the moments of those of momentum.
  PLX_INLINE static void difference(const arguments& a, const stage_box& b, int axis, int c, int s, int t,
                                    double (&d)[3]) {
    double momentum[2 * (i_momentum + 3)];  // [variable][face]
    for (int x = 0; x < 3; ++x) {
      const int v = device::kept_spin(a.hydro) + x;
      d[x] = *kept_flux(a, b, v, axis, c + 1, s, t) - *kept_flux(a, b, v, axis, c, s, t);
      for (int f = 0; f < 2; ++f) momentum[2 * (i_momentum + x) + f] = *kept_flux(a, b, 1 + x, axis, c + f, s, t);
    }
    add_moments({nullptr, 0, 0, 1, nullptr, nullptr, momentum, 2, i_velocity + axis, i_velocity + (axis + 1) % 3,
                 i_velocity + (axis + 2) % 3},
                0, b.block.place.dx, d, 1, 1);
  }
};

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
