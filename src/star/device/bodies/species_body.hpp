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
#include "star/hydro/kernel/kernel_reconstruct.hpp"
#include "star/hydro/kernel/kernel_species.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

struct species_body {
  using arguments = device::stage_arguments;
  static constexpr int threads = 3 * box_lines, phases = 2, groups_per_unit = 4;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return count_boxes(a); }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    if (a.control->stopped != 0) return;
    const stage_box b = box_of(a, group);
    if constexpr (phase == 0) walk(a, b, thread);
    if constexpr (phase == 1) update(a, b, thread);
  }

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
      settle_species(a.target + at, volume, n_species, a.target[at]);
      if (not_less(vabs(finite), 1.0)) lower_to(&a.reports[b.position].bad, device::bad_key(a.stage, 0, cell));
    }
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
