// One Runge-Kutta stage as a body (star/device/bodies/body.hpp): a group advances a box of 8^3 cells of a block.
//
// Phase 0 converts the box and the three layers around its faces to primitive variables, or reads these from tiles if
// there are any (ghosts_body.hpp). Phase 1: each of the 192
// threads walks one line of the box (64 along each axis), with the reconstruction and the last flux in registers, and
// stores the differences of the fluxes. Phase 2 updates the cells.
//
// Shared memory holds the primitives of the box, and per axis the differences: 4 x n_var x 576 doubles. A line's six
// ghost cells are stored where its eight differences will be: cells -3 .. -1 at 0 .. 2, cells 8 .. 10 at 5 .. 7; each
// is read before the same thread overwrites it. Rows are 9 doubles long, so that threads in all three directions read
// different banks.
//
// Thread safety: as bodies. Cost: about 1300 operations per cell; global memory: 144 bytes per cell and the ghost
// cells.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include <type_traits>

#include "star/device/bodies/cells.hpp"
#include "star/device/bodies/stage_box.hpp"
#include "star/hydro/kernel/kernel_positive.hpp"
#include "star/hydro/kernel/kernel_spin.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

constexpr int box_row = box_edge + 1, box_plane = box_edge * box_row, box_doubles = box_edge * box_plane;

PLX_INLINE int in_box(int i, int j, int k) { return k * box_plane + j * box_row + i; }
PLX_INLINE int box_step(int axis) { return axis == 0 ? 1 : axis == 1 ? box_row : box_plane; }

/// True if the stage has no spin or species, no rotating frame and no potential.
inline bool is_gas_alone(const device::stage_arguments& a) {
  return a.kept == nullptr && !a.hydro.spin && a.hydro.omega == 0.0 && a.potential == nullptr;
}

/// `gas_alone`: requires is_gas_alone(); has fewer branches in its loop over faces.
template <reconstruction scheme, riemann_solver solver, class Eos, bool gas_alone = false>
struct stage_body {
  using arguments = device::stage_arguments;
  static constexpr int threads = 3 * box_lines, phases = 3;
  static constexpr int groups_per_unit = 2;  ///< that should run on a multiprocessor at the same time
  static std::size_t shared_bytes(const arguments&) { return sizeof(double) * 4 * gas_variables * box_doubles; }
  using box = stage_box;
  static int groups(const arguments& a) { return count_boxes(a); }

  PLX_INLINE static double* differences(double* shared, int axis) {
    return shared + (1 + axis) * gas_variables * box_doubles;
  }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double* shared) {
    if (a.control->stopped != 0) return;
    const box b = box_of(a, group);
    if constexpr (phase == 0) convert(a, b, thread, shared);
    if constexpr (phase == 1) walk(a, b, thread, shared);
    if constexpr (phase == 2) update(a, b, thread, shared);
  }

  // ---- phase 0
  PLX_INLINE static void convert(const arguments& a, const box& b, int thread, double* shared) {
    constexpr int arm = 3 * box_lines, arms = 6 * arm;
    for (int e = thread; e < box_cells + arms; e += threads) {
      int i, j, k;
      double* to = shared;
      bool counts = true;
      if (e < box_cells) {
        i = e % box_edge, j = e / box_edge % box_edge, k = e / box_lines;
        to += in_box(i, j, k);
      } else {
        const int m = e - box_cells, axis = m / (2 * arm), upper = m / arm % 2, r = m % arm;
        const int layer = axis == 0 ? r % 3 : r / box_lines, line = axis == 0 ? r / 3 : r % box_lines;
        const int s = line % box_edge, t = line / box_edge;
        const int c = upper != 0 ? box_edge + layer : layer - ghost_depth, place = upper != 0 ? c - 3 : c + 3;
        i = axis == 0 ? c : s, j = axis == 1 ? c : axis == 0 ? s : t, k = axis == 2 ? c : t;
        to = differences(shared, axis) + in_box(axis == 0 ? place : i, axis == 1 ? place : j, axis == 2 ? place : k);
        const int first = axis == 0 ? b.x0 : axis == 1 ? b.y0 : b.z0;
        counts = first + c < 0 || first + c >= a.n;  // others belong to another box of the block
      }
      if (a.tiles != nullptr) {
        const double* at = tile_of(a, b) + k * tile_step(a, 2) + j * tile_step(a, 1) + i;
        PLX_UNROLL
        for (int v = 0; v < gas_variables; ++v) to[v * box_doubles] = at[v * tile_volume(a)];
        continue;
      }
      const cell_values from = cell_at(a, b.block, gas_variables, b.x0 + i, b.y0 + j, b.z0 + k);
      double u[gas_variables];
      PLX_UNROLL
      for (int v = 0; v < gas_variables; ++v) u[v] = from.first[v * from.variable];
      if (e >= box_cells) {
        const int axis = (e - box_cells) / (2 * arm);
        PLX_UNROLL
        for (int v = 0; v < 3; ++v)
          if (v == axis) u[i_momentum + v] = turned(u[i_momentum + v], from.normal);
      }
      if (to_primitive<Eos>(a.hydro, gas_variables, u, 1, to, box_doubles) && counts)
        add_to(&a.reports[b.position].input_floors, 1);
      if (a.hydro.omega != 0.0) subtract_mesh_velocity(a, b, i, j, to + i_velocity * box_doubles, box_doubles);
    }
  }

  // ---- phase 1
  struct line {
    const double* core;
    double* difference;
    int step;
    int variable[gas_variables];  ///< offsets of density, velocities (normal, t, b), pressure, tracer

    /// Cell c = -3 .. 10.
    PLX_INLINE const double* cell(int c) const {
      return c < 0 ? difference + (c + 3) * step : c < box_edge ? core + c * step : difference + (c - 3) * step;
    }
  };

  PLX_INLINE static line line_of(int axis, int s, int t, double* shared) {
    const int first = axis == 0 ? in_box(0, s, t) : axis == 1 ? in_box(s, 0, t) : in_box(s, t, 0);
    line l{shared + first, differences(shared, axis) + first, box_step(axis), {}};
    l.variable[i_density] = 0;
    for (int d = 0; d < 3; ++d) l.variable[i_velocity + d] = (i_velocity + (axis + d) % 3) * box_doubles;
    l.variable[i_pressure] = i_pressure * box_doubles;
    l.variable[i_tracer] = i_tracer * box_doubles;
    return l;
  }

  PLX_INLINE static void walk(const arguments& a, const box& b, int thread, double* shared) {
    const int axis = thread / box_lines, s = thread % box_edge, t = thread / box_edge % box_edge;
    const line l = line_of(axis, s, t, shared);
    line_window<scheme> window[gas_variables];
    double left[gas_variables], below[gas_variables], tracer_below = 0.0;
    face_state cell_below{};
    PLX_UNROLL
    for (int v = 0; v < gas_variables; ++v) {
      const int o = l.variable[v];
      window[v].begin(l.cell(-3)[o], l.cell(-2)[o], l.cell(-1)[o], l.cell(0)[o]);
      left[v] = below[v] = 0.0;
    }
    const Eos eos(a.hydro.eos);
    const double dt_dx = a.control->dt / b.block.place.dx;
    const double* phi = gas_alone   ? nullptr
                        : axis == 0 ? potential_at(a, b, 0, s, t)
                        : axis == 1 ? potential_at(a, b, s, 0, t)
                                    : potential_at(a, b, s, t, 0);
    const int phi_step = axis == 0 ? 1 : axis == 1 ? a.n + 4 : (a.n + 4) * (a.n + 4);
    double share = 0.0;  // of the work of gravity, of the face below
    PLX_NO_UNROLL
    for (int c = -1; c <= box_edge; ++c) {
      const face_state cell{window[0].average(), window[1].average(), window[2].average(), window[3].average(),
                            window[4].average()};
      const double tracer = window[i_tracer].average();
      const double* next = l.cell(c + 2);
      double lower[gas_variables], upper[gas_variables];
      PLX_UNROLL
      for (int v = 0; v < gas_variables; ++v) {
        if (v >= i_velocity && v < i_velocity + 3)
          window[v].template step<false>(next[l.variable[v]], lower[v], upper[v]);
        else
          window[v].template step<true>(next[l.variable[v]], lower[v], upper[v]);
      }
      if (c >= 0) {
        if (!gas_alone && a.hydro.spin) turn(a, b, axis, c, s, t, left, lower);
        face_flux f = solve<solver>(face_state{left[0], left[1], left[2], left[3], left[4]},
                                    face_state{lower[0], lower[1], lower[2], lower[3], lower[4]}, eos);
        const bool limited = keep_positive<skips_similar<scheme>>(cell_below, cell, eos, dt_dx, f),
                   from_above = less(f.mass, 0.0);
        const double upwind =
            limited ? select(from_above, tracer, tracer_below) : select(from_above, lower[i_tracer], left[i_tracer]);
        if (!gas_alone && a.hydro.omega != 0.0)
          f = in_inertial_frame(f, axis,
                                velocity_of_face(a, b, axis, axis == 0 ? c : s,
                                                 axis == 1   ? c
                                                 : axis == 0 ? s
                                                             : t));
        const double flux[gas_variables] = {f.mass, f.n, f.t, f.b, f.energy, f.mass * upwind};
        if (!gas_alone) keep_flux_inside(a, b, axis, c, s, t, flux);
        face_work work{};
        if (phi != nullptr) {
          const double* at = phi + c * phi_step;
          work = work_of(f.mass, cell.density * cell.n - cell_below.density * cell_below.n,
                         {at[-2 * phi_step], at[-phi_step], at[0], at[phi_step]});
        }
        if (c == 0) {
          keep_flux(a, b, axis, s, t, false, flux);
        } else {
          double* difference = l.difference + (c - 1) * l.step;
          PLX_UNROLL
          for (int v = 0; v < gas_variables; ++v) difference[l.variable[v]] = flux[v] - below[v];
          if (phi != nullptr)
            keep_work(a, b, axis, axis == 0 ? c - 1 : s,
                      axis == 1   ? c - 1
                      : axis == 0 ? s
                                  : t,
                      axis == 2 ? c - 1 : t, share + work.below);
        }
        share = work.above;
        if (c == box_edge) keep_flux(a, b, axis, s, t, true, flux);
        PLX_UNROLL
        for (int v = 0; v < gas_variables; ++v) below[v] = flux[v];
      }
      PLX_UNROLL
      for (int v = 0; v < gas_variables; ++v) left[v] = upper[v];
      cell_below = cell, tracer_below = tracer;
    }
  }

  /// Adds the rotation of the cells to the tangential velocities on both sides of a face.
  PLX_INLINE static void turn(const arguments& a, const box& b, int axis, int c, int s, int t,
                              double (&below)[gas_variables], double (&above)[gas_variables]) {
    const int vt = i_velocity + (axis + 1) % 3, vb = i_velocity + (axis + 2) % 3;
    const std::ptrdiff_t cell = tile_step(a, axis);
    double left[i_velocity + 3] = {}, right[i_velocity + 3] = {};
    left[vt] = below[i_velocity + 1], left[vb] = below[i_velocity + 2];
    right[vt] = above[i_velocity + 1], right[vb] = above[i_velocity + 2];
    turn_velocities({tile_line(a, b, axis, s, t) + c * cell, cell, tile_volume(a), 0, left, right, nullptr, 1,
                     i_velocity + axis, vt, vb},
                    spin_variable(a.hydro));
    below[i_velocity + 1] = left[vt], below[i_velocity + 2] = left[vb];
    above[i_velocity + 1] = right[vt], above[i_velocity + 2] = right[vb];
  }

  // ---- phase 2
  PLX_INLINE static double energy_at(const arguments& a, const box& b, int i, int j, int k) {
    const cell_values c = cell_at(a, b.block, gas_variables, i, j, k);
    return c.first[i_energy * c.variable];
  }

  PLX_INLINE static double energy_around(const arguments& a, const box& b, int i, int j, int k, double energy) {
    const double x = vmax(energy_at(a, b, i - 1, j, k), energy_at(a, b, i + 1, j, k));
    const double y = vmax(energy_at(a, b, i, j - 1, k), energy_at(a, b, i, j + 1, k));
    const double z = vmax(energy_at(a, b, i, j, k - 1), energy_at(a, b, i, j, k + 1));
    return vmax(vmax(x, energy), vmax(y, z));
  }

  PLX_INLINE static void update(const arguments& a, const box& b, int thread, const double* shared) {
    constexpr int axis = gas_variables * box_doubles;
    tally sums;
    for (int e = thread; e < box_cells; e += threads) {
      const int i = e % box_edge, j = e / box_edge % box_edge, k = e / box_lines;
      const double* d = shared + axis + in_box(i, j, k);
      update_cell<Eos>(
          a, b, i, j, k, {d, d + axis, d + 2 * axis, box_doubles},
          [&](double energy) {
            return a.tiles != nullptr ? energy_around_in_tile(a, b, i, j, k, energy)
                                      : energy_around(a, b, b.x0 + i, b.y0 + j, b.z0 + k, energy);
          },
          sums);
    }
    report_cells(a.reports[b.position], a.last, a.stage, 0, sums);
  }
};

/// Calls f<Body>() with the stage_body of a stage. The other equations of state are those of stars, with a potential.
template <reconstruction scheme, riemann_solver solver, class Eos, class F>
void with_stage_body(const device::stage_arguments& a, F&& f) {
  if constexpr (std::is_same_v<Eos, ideal_gas>)
    if (is_gas_alone(a)) return f.template operator()<stage_body<scheme, solver, Eos, true>>();
  f.template operator()<stage_body<scheme, solver, Eos>>();
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
