// One Runge-Kutta stage of the scheme `full3d` as a body: a group advances a box of 8^3 cells of a block.
//
// Phase 0 reads the primitive variables of the box and its ghost cells from the tile (ghosts_body.hpp) into shared
// memory. Phases 1 and 2: threads walk along lines of cells, 64 across each axis. An axis through a cell that has a
// component along the line ends at points of both faces of the line: of the values there, those ahead are kept in
// registers for the next face. In phase 1 a walk handles two axes, hence two opposite points of each face; a thread
// walks along its line twice, and then has the sum of the four points at edges, or at corners, for each face. In phase
// 2 a walk handles the centres and the tracer, and completes the fluxes. Phase 3 updates the cells.
//
// The sums are in memory, [sum][axis][face][line], in the order of the threads; differences overwrite them.
//
// Thread safety: as bodies. Cost: 27 axes per cell where 13 are different, at 57 operations and variable: with the
// fluxes about 13000 operations per cell. Values at points stay in registers.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include "star/device/bodies/stage_box.hpp"
#include "star/hydro/kernel/kernel_point.hpp"
#include "star/hydro/kernel/kernel_positive.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

template <bool steep, class Eos>
struct full3d_body {
  using arguments = device::stage_arguments;
  static constexpr int threads = 384, phases = 4, groups_per_unit = 2;
  static constexpr int point_variables = 5;
  static constexpr int edge = box_edge + 2 * ghost_layers;
  static constexpr int row = edge, plane = edge * row + 1;  ///< odd: lines along x are in different banks
  static constexpr int variable = edge * plane;
  static constexpr int faces = box_edge + 1, lines = 3 * box_lines;
  static constexpr int part = lines * faces;  ///< doubles of one variable of a sum, of all faces
  static_assert(2 * point_variables * part == device::full3d_part_doubles);

  static std::size_t shared_bytes(const arguments&) { return sizeof(double) * point_variables * variable; }
  static int groups(const arguments& a) { return count_boxes(a); }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double* shared) {
    if (a.control->stopped != 0) return;
    const stage_box b = box_of(a, group);
    double* parts = a.parts + static_cast<std::ptrdiff_t>(group) * device::full3d_part_doubles;
    if constexpr (phase == 0) fetch(a, b, thread, shared);
    if constexpr (phase == 1) sum_points(a, thread, shared, parts);
    if constexpr (phase == 2) {
      if (thread < lines) finish(a, b, thread, shared, parts);
    }
    if constexpr (phase == 3) update(a, b, thread, parts);
  }

  PLX_INLINE static int at(int i, int j, int k) {
    return (k + ghost_layers) * plane + (j + ghost_layers) * row + i + ghost_layers;
  }
  PLX_INLINE static int step_along(int axis) { return axis == 0 ? 1 : axis == 1 ? row : plane; }

  // ---- phase 0
  PLX_INLINE static void fetch(const arguments& a, const stage_box& b, int thread, double* shared) {
    const std::ptrdiff_t w = tile_row(a), volume = tile_volume(a);
    const double* from = tile_of(a, b) - ghost_layers * (1 + w + w * w);
    for (int e = thread; e < edge * edge * edge; e += threads) {
      const int i = e % edge, j = e / edge % edge, k = e / (edge * edge);
      PLX_UNROLL
      for (int v = 0; v < point_variables; ++v)
        shared[v * variable + k * plane + j * row + i] = from[v * volume + (k * w + j) * w + i];
    }
  }

  // ---- phases 1 and 2
  /// A line of cells across `axis`, at (s, t) along the two others, x before y before z.
  struct line {
    int axis, s, t;
    int first;                 ///< index of its cell 0 in shared memory
    int step, step_a, step_b;  ///< along it; along the next axis and the one after that, in cyclic order
    int n, a, b;               ///< indices of the velocities along these
  };
  PLX_INLINE static line line_of(int number) {
    const int axis = number / box_lines, s = number % box_edge, t = number / box_edge % box_edge;
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    return {axis,
            s,
            t,
            axis == 0   ? at(0, s, t)
            : axis == 1 ? at(s, 0, t)
                        : at(s, t, 0),
            step_along(axis),
            step_along(a),
            step_along(b),
            (i_velocity + axis) * variable,
            (i_velocity + a) * variable,
            (i_velocity + b) * variable};
  }

  /// Values at both ends of an axis through the cell at `cell`.
  PLX_INLINE static void both_ends(const double* cell, const line& l, int axis, const Eos& eos, face_state& minus,
                                   face_state& plus) {
    const double* pressure = cell + i_pressure * variable;
    point_pair p;
    if constexpr (steep)
      p = reconstruct_density(cell, pressure, axis, eos);
    else
      p = reconstruct_point(cell, axis);
    minus.density = p.minus, plus.density = p.plus;
    p = reconstruct_point(cell + l.n, axis), minus.n = p.minus, plus.n = p.plus;
    p = reconstruct_point(cell + l.a, axis), minus.t = p.minus, plus.t = p.plus;
    p = reconstruct_point(cell + l.b, axis), minus.b = p.minus, plus.b = p.plus;
    p = reconstruct_point(pressure, axis), minus.pressure = p.minus, plus.pressure = p.plus;
  }

  PLX_INLINE static void put(double* to, const face_flux& f) {
    to[0] = f.mass, to[part] = f.n, to[2 * part] = f.t, to[3 * part] = f.b, to[4 * part] = f.energy;
  }
  PLX_INLINE static face_flux get(const double* from) {
    return {from[0], from[part], from[2 * part], from[3 * part], from[4 * part]};
  }
  template <face_part which>
  PLX_INLINE static face_flux simpson_of(const face_flux& so_far, const face_flux& points) {
    return {simpson<which>(so_far.mass, points.mass), simpson<which>(so_far.n, points.n),
            simpson<which>(so_far.t, points.t), simpson<which>(so_far.b, points.b),
            simpson<which>(so_far.energy, points.energy)};
  }

  /// The address of the sums of a line; those of face f are 64 f further.
  PLX_INLINE static double* place_of(double* parts, int number) {
    return parts + number / box_lines * (faces * box_lines) + number % box_lines;
  }

  /// 192 lines, for the points at edges and for those at corners.
  PLX_INLINE static void sum_points(const arguments& a, int thread, const double* shared, double* parts) {
    static_assert(threads == 2 * lines);
    const int number = thread % lines;
    const bool corners = thread >= lines;
    const Eos eos(a.hydro.eos);
    const line l = line_of(number);
    double* sums = place_of(parts, number) + (corners ? point_variables * part : 0);
    PLX_NO_UNROLL
    for (int pair = 0; pair < 2; ++pair) {
      const int across = corners ? l.step_a + (pair == 0 ? l.step_b : -l.step_b) : pair == 0 ? l.step_a : l.step_b;
      walk_pair(l, across, pair != 0, corners, eos, shared, sums);
    }
  }

  /// The fluxes at the points `across` and -`across` of all faces of a line.
  PLX_INLINE static void walk_pair(const line& l, int across, bool second, bool corners, const Eos& eos,
                                   const double* shared, double* sums) {
    face_state below_up{}, below_down{};  // at these two points, from the cell below
    PLX_NO_UNROLL
    for (int c = -1; c <= box_edge; ++c) {
      const double* cell = shared + l.first + c * l.step;
      face_state above_up, above_down, next_up, next_down;
      both_ends(cell, l, l.step + across, eos, above_down, next_up);
      both_ends(cell, l, l.step - across, eos, above_up, next_down);
      if (c >= 0) {
        face_flux f = hll(below_down, above_down, eos) + hll(below_up, above_up, eos);
        double* to = sums + c * box_lines;
        if (second)
          f = corners ? simpson_of<face_part::corners>(get(to), f) : simpson_of<face_part::edges_b>(get(to), f);
        put(to, f);
      }
      below_up = next_up, below_down = next_down;
    }
  }

  /// The averages of the cell at `cell`.
  PLX_INLINE static face_state average_at(const double* cell, const line& l) {
    return {cell[0], cell[l.n], cell[l.a], cell[l.b], cell[i_pressure * variable]};
  }

  PLX_INLINE static void finish(const arguments& a, const stage_box& b, int number, const double* shared,
                                double* parts) {
    const line l = line_of(number);
    const Eos eos(a.hydro.eos);
    const double dt_dx = a.control->dt / b.block.place.dx;
    const std::ptrdiff_t cell_step = tile_step(a, l.axis);
    const double* tracer = tile_line(a, b, l.axis, l.s, l.t) + i_tracer * tile_volume(a);
    line_window<reconstruction::ppm> window;
    window.begin(tracer[-3 * cell_step], tracer[-2 * cell_step], tracer[-cell_step], tracer[0]);
    double* sums = place_of(parts, number);
    face_state below{};
    face_state cell_below{};
    double tracer_below = 0.0, flux_below[gas_variables] = {};
    const double* phi = l.axis == 0   ? potential_at(a, b, 0, l.s, l.t)
                        : l.axis == 1 ? potential_at(a, b, l.s, 0, l.t)
                                      : potential_at(a, b, l.s, l.t, 0);
    const int phi_step = l.axis == 0 ? 1 : l.axis == 1 ? a.n + 4 : (a.n + 4) * (a.n + 4);
    double share = 0.0;  // of the work of gravity, of the face below
    PLX_NO_UNROLL
    for (int c = -1; c <= box_edge; ++c) {
      face_state above, next;
      double tracer_above, tracer_next;
      const double* at_cell = shared + l.first + c * l.step;
      both_ends(at_cell, l, l.step, eos, above, next);
      const face_state cell = average_at(at_cell, l);
      window.template step<true>(tracer[(c + 2) * cell_step], tracer_above, tracer_next);
      if (c >= 0) {
        double* at_face = sums + c * box_lines;
        const face_flux rim = simpson_of<face_part::corners>(get(at_face), get(at_face + point_variables * part));
        face_flux f = simpson_of<face_part::centre>(rim, hll(below, above, eos));
        const bool limited = keep_positive<false>(cell_below, cell, eos, dt_dx, f), from_above = less(f.mass, 0.0);
        const double upwind = limited ? select(from_above, tracer[c * cell_step], tracer[(c - 1) * cell_step])
                                      : select(from_above, tracer_above, tracer_below);
        if (a.hydro.omega != 0.0)
          f = in_inertial_frame(f, l.axis,
                                velocity_of_face(a, b, l.axis, l.axis == 0 ? c : l.s,
                                                 l.axis == 1   ? c
                                                 : l.axis == 0 ? l.s
                                                               : l.t));
        const double flux[gas_variables] = {f.mass, f.n, f.t, f.b, f.energy, f.mass * upwind};
        keep_flux_inside(a, b, l.axis, c, l.s, l.t, flux);
        face_work work{};
        if (phi != nullptr) {
          const double* at = phi + c * phi_step;
          work = work_of(f.mass, cell.density * cell.n - cell_below.density * cell_below.n,
                         {at[-2 * phi_step], at[-phi_step], at[0], at[phi_step]});
        }
        if (c == 0) {
          keep_flux(a, b, l.axis, l.s, l.t, false, flux);
        } else {
          double* difference = at_face - box_lines;
          PLX_UNROLL
          for (int v = 0; v < gas_variables; ++v) {
            const int to = v >= i_momentum && v < i_momentum + 3 ? i_momentum + (l.axis + v - i_momentum) % 3 : v;
            difference[to * part] = flux[v] - flux_below[v];
          }
          if (phi != nullptr)
            keep_work(a, b, l.axis, l.axis == 0 ? c - 1 : l.s,
                      l.axis == 1   ? c - 1
                      : l.axis == 0 ? l.s
                                    : l.t,
                      l.axis == 2 ? c - 1 : l.t, share + work.below);
        }
        if (c == box_edge) keep_flux(a, b, l.axis, l.s, l.t, true, flux);
        share = work.above;
        PLX_UNROLL
        for (int v = 0; v < gas_variables; ++v) flux_below[v] = flux[v];
      }
      below = next, tracer_below = tracer_next, cell_below = cell;
    }
  }

  // ---- phase 3
  PLX_INLINE static void update(const arguments& a, const stage_box& b, int thread, const double* parts) {
    constexpr int axis = faces * box_lines;
    tally sums;
    for (int e = thread; e < box_cells; e += threads) {
      const int i = e % box_edge, j = e / box_edge % box_edge, k = e / box_lines;
      update_cell<Eos>(
          a, b, i, j, k,
          {parts + i * box_lines + k * box_edge + j, parts + axis + j * box_lines + k * box_edge + i,
           parts + 2 * axis + k * box_lines + j * box_edge + i, part},
          [&](double energy) { return energy_around_in_tile(a, b, i, j, k, energy); }, sums);
    }
    report_cells(a.reports[b.position], a.last, a.stage, 0, sums);
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
