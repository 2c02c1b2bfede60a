// Common parts of the bodies of a stage: the boxes of 8^3 cells of a block, one for each group; tiles; the storage of
// fluxes through the block's faces, and of those that species_spin_body.hpp reads; the update of a cell
// from the differences of its fluxes.
//
// Thread safety: as bodies. Cost: about 250 operations per update.
// Example: star/device/bodies/stage_body.hpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/bodies/cells.hpp"
#include "star/hydro/kernel/kernel_reconstruct.hpp"

namespace plx::star::PLX_HYDRO_ISA {

namespace {

constexpr int box_edge = 8, box_lines = box_edge * box_edge, box_cells = box_lines * box_edge;
constexpr int gas_variables = i_species;

/// The box of a group: its block, and its position in it.
struct stage_box {
  const device::block_item& block;
  int group, position, x0, y0, z0;
};

constexpr int boxes_along(int n) { return n / box_edge; }

/// Number of groups for all blocks of a stage.
inline int count_boxes(const device::stage_arguments& a) {
  const int boxes = boxes_along(a.n);
  return a.n_blocks * boxes * boxes * boxes;
}

PLX_INLINE stage_box box_of(const device::stage_arguments& a, int group) {
  const int boxes = boxes_along(a.n), per_block = boxes * boxes * boxes;
  const int position = group / per_block, part = group % per_block;
  return {a.blocks[position],
          group,
          position,
          part % boxes * box_edge,
          part / boxes % boxes * box_edge,
          part / (boxes * boxes) * box_edge};
}

/// Tiles: cells along x, and the distance between variables.
PLX_INLINE std::ptrdiff_t tile_row(const device::stage_arguments& a) { return a.n + 2 * ghost_layers; }
PLX_INLINE std::ptrdiff_t tile_volume(const device::stage_arguments& a) {
  return tile_row(a) * tile_row(a) * tile_row(a);
}
/// Cell (0, 0, 0) of the box in its tile.
PLX_INLINE const double* tile_of(const device::stage_arguments& a, const stage_box& b) {
  const std::ptrdiff_t w = tile_row(a);
  return a.tiles + b.position * device::tile_variables(a.hydro) * tile_volume(a) +
         ((b.z0 + ghost_layers) * w + b.y0 + ghost_layers) * w + b.x0 + ghost_layers;
}
PLX_INLINE std::ptrdiff_t tile_step(const device::stage_arguments& a, int axis) {
  return axis == 0 ? 1 : axis == 1 ? tile_row(a) : tile_row(a) * tile_row(a);
}
/// Cell 0 of the line (s, t) across an axis in the tile.
PLX_INLINE const double* tile_line(const device::stage_arguments& a, const stage_box& b, int axis, int s, int t) {
  return tile_of(a, b) + s * tile_step(a, axis == 0 ? 1 : 0) + t * tile_step(a, axis == 2 ? 1 : 2);
}
/// Largest total energy of cell (i, j, k) of the box, `energy`, and of its six neighbours in the tile.
PLX_INLINE double energy_around_in_tile(const device::stage_arguments& a, const stage_box& b, int i, int j, int k,
                                        double energy) {
  const std::ptrdiff_t row = tile_step(a, 1), plane = tile_step(a, 2);
  const double* at = tile_of(a, b) + device::tile_energy(a.hydro) * tile_volume(a) + k * plane + j * row + i;
  const double x = vmax(at[-1], at[1]), y = vmax(at[-row], at[row]), z = vmax(at[-plane], at[plane]);
  return vmax(vmax(x, energy), vmax(y, z));
}

/// The flux of kept variable v (device::kept_species()) through face c of the line (s, t) across an axis.
PLX_INLINE double* kept_flux(const device::stage_arguments& a, const stage_box& b, int v, int axis, int c, int s,
                             int t) {
  return a.kept + b.group * static_cast<std::ptrdiff_t>(device::kept_doubles(a.hydro)) +
         ((v * 3 + axis) * (box_edge + 1) + c) * box_lines + t * box_edge + s;
}

/// Keeps what species_spin_body.hpp reads of the gas. Shapes: flux: density, velocities (normal and the two
/// others in cyclic order), ...
PLX_INLINE void keep_flux_inside(const device::stage_arguments& a, const stage_box& b, int axis, int c, int s, int t,
                                 const double* flux) {
  if (a.kept == nullptr) return;
  *kept_flux(a, b, 0, axis, c, s, t) = flux[i_density];
  for (int d = 0; a.hydro.spin && d < 3; ++d)
    *kept_flux(a, b, 1 + (axis + d) % 3, axis, c, s, t) = flux[i_momentum + d];
}

/// Makes the velocities of cell (i, j) of the box, `variable` doubles apart, relative to the mesh.
PLX_INLINE void subtract_mesh_velocity(const device::stage_arguments& a, const stage_box& b, int i, int j,
                                       double* velocity, std::ptrdiff_t variable) {
  velocity[0] = velocity[0] + a.hydro.omega * b.block.place.centre(1, b.y0 + j);
  velocity[variable] = velocity[variable] - a.hydro.omega * b.block.place.centre(0, b.x0 + i);
}

/// The velocity of the mesh at the lower face of cell (i, j) of the box across an axis.
PLX_INLINE mesh_velocity velocity_of_face(const device::stage_arguments& a, const stage_box& b, int axis, int i,
                                          int j) {
  const block_place& place = b.block.place;
  return velocity_of_mesh(a.hydro.omega, axis == 0 ? place.face(0, b.x0 + i) : place.centre(0, b.x0 + i),
                          axis == 1 ? place.face(1, b.y0 + j) : place.centre(1, b.y0 + j));
}

/// The potential at cell (i, j, k) of the box, two layers around it included, or nullptr: none.
PLX_INLINE const double* potential_at(const device::stage_arguments& a, const stage_box& b, int i, int j, int k) {
  return potential_in(a, b.block, b.x0 + i, b.y0 + j, b.z0 + k);
}

/// Stores the work of gravity along an axis in cell (i, j, k) of the box.
PLX_INLINE void keep_work(const device::stage_arguments& a, const stage_box& b, int axis, int i, int j, int k,
                          double work) {
  const std::int64_t cells = static_cast<std::int64_t>(a.n) * a.n * a.n;
  a.work[(a.work_rows[b.block.slot] * std::int64_t{3} + axis) * cells + ((b.z0 + k) * a.n + b.y0 + j) * a.n + b.x0 +
         i] = work;
}

/// The place of the flux of the density at an end of the line (s, t) across an axis, if it is on a face of the block
/// and requested; or nullptr.
PLX_INLINE double* flux_at_face(const device::stage_arguments& a, const stage_box& b, int axis, int s, int t,
                                bool upper) {
  const int first = axis == 0 ? b.x0 : axis == 1 ? b.y0 : b.z0;
  if (upper ? first + box_edge != a.n : first != 0) return nullptr;
  const std::int64_t to = b.block.flux[2 * axis + (upper ? 1 : 0)];
  if (to < 0) return nullptr;
  const int fast = (axis == 0 ? b.y0 : b.x0) + s, slow = (axis == 2 ? b.y0 : b.z0) + t;
  return a.fluxes + to + static_cast<std::ptrdiff_t>(slow) * a.n + fast;
}

/// Stores the flux at an end of a line, if it is requested. Shapes: flux: density, velocities (normal and the two
/// others in cyclic order), energy, tracer.
PLX_INLINE void keep_flux(const device::stage_arguments& a, const stage_box& b, int axis, int s, int t, bool upper,
                          const double* flux) {
  double* const out = flux_at_face(a, b, axis, s, t, upper);
  if (out == nullptr) return;
  const std::ptrdiff_t area = static_cast<std::ptrdiff_t>(a.n) * a.n;
  for (int v = 0; v < gas_variables; ++v) {
    const int w = v >= i_momentum && v < i_momentum + 3 ? i_momentum + (axis + v - i_momentum) % 3 : v;
    out[w * area] = flux[v];
  }
  // The potential energy that leaves the domain is part of the outflow.
  const device::ghosts_from beyond = b.block.face[2 * axis + (upper ? 1 : 0)].kind;
  if (beyond == device::ghosts_from::block || beyond == device::ghosts_from::slab) return;
  const int end = upper ? box_edge - 1 : 0;
  const double* phi = axis == 0   ? potential_at(a, b, end, s, t)
                      : axis == 1 ? potential_at(a, b, s, end, t)
                                  : potential_at(a, b, s, t, end);
  if (phi != nullptr) out[i_energy * area] = flux[i_energy] + flux[i_density] * *phi;
}

/// Differences of the fluxes of a cell: of the first variable along x, y and z, and the distances between variables.
struct flux_differences {
  const double *x, *y, *z;
  std::ptrdiff_t variable;
};

/// Updates the gas of cell (i, j, k) of the box. `energy_around(total energy of the cell)`: the largest of it and its
/// neighbours'.
template <class Eos, class EnergyAround>
PLX_INLINE void update_cell(const device::stage_arguments& a, const stage_box& b, int i, int j, int k,
                            const flux_differences& d, EnergyAround energy_around, tally& sums) {
  const std::ptrdiff_t volume = static_cast<std::ptrdiff_t>(a.n) * a.n * a.n;
  const double step = a.control->dt / b.block.place.dx, weight = a.weight;
  hydro_parameters p = a.hydro;
  p.n_species = 0;
  const int cell = ((b.z0 + k) * a.n + b.y0 + j) * a.n + b.x0 + i;
  const double *source = a.source + b.block.values + cell, *old = a.u_old + b.block.values + cell;
  double u_new[gas_variables], finite = 0.0, energy = 0.0;
  PLX_UNROLL
  for (int v = 0; v < gas_variables; ++v) {
    const double dx = d.x[v * d.variable], dy = d.y[v * d.variable], dz = d.z[v * d.variable];
    const double u = source[v * volume], u_old = old[v * volume];
    u_new[v] = u_old + weight * ((u - u_old) - step * sum3(dx, dy, dz));
    finite = finite + u_new[v] * 0.0;
    if (v == i_density || v == i_energy) finite = finite + (dx + dy + dz) * 0.0;  // sum3 may lose a NaN
    if (v == i_energy) energy = u;
  }
  settle<Eos>(
      p, u_new, 1, finite, energy_around(energy), cell, every_lane,
      [&](int axis) {
        return b.block.place.centre(axis, axis == 0 ? b.x0 + i : axis == 1 ? b.y0 + j : b.z0 + k);
      },
      [&] { return target_of_group(a.added, b.group, a.hydro, b.block.place.dx, potential_at(a, b, i, j, k)); }, sums);
  double* target = a.target + b.block.values + cell;
  PLX_UNROLL
  for (int v = 0; v < gas_variables; ++v) target[v * volume] = u_new[v];
}

// ---- Reconstruction along a line by one thread: computes what reconstruct_line() computes, one cell at a time, and
// keeps the few values that are still needed in registers. The bits are the same.
//
// Cost: kernel_reconstruct.hpp.

/// One variable along a line. begin() takes cells -3 .. 0; then each step() takes cell c + 2 and returns both values of
/// cell c, for c = -1, 0, 1, ... Before that step, average() is cell c.
template <reconstruction scheme>
struct line_window;

template <>
struct line_window<reconstruction::ppm> {
  vd q0, q1, d1, s0, a0;

  PLX_INLINE vd average() const { return q0; }
  PLX_INLINE void begin(vd m3, vd m2, vd m1, vd c0) {
    q0 = m1, q1 = c0;
    vd d = m1 - m2;
    d1 = c0 - m1;
    vd below = half_slope(m2 - m3, d);
    s0 = half_slope(d, d1);
    a0 = all(0.5) * (m2 + m1) + all(1.0 / 3.0) * (below - s0);
  }
  template <bool positive>
  PLX_INLINE void step(vd q2, vd& lower, vd& upper) {
    vd d2 = q2 - q1;
    vd s1 = half_slope(d1, d2);
    vd a1 = all(0.5) * (q0 + q1) + all(1.0 / 3.0) * (s0 - s1);
    lower = monotone(a0, q0, a1);
    upper = monotone(a1, q0, a0);
    q0 = q1, q1 = q2, d1 = d2, s0 = s1, a0 = a1;
  }
};

template <>
struct line_window<reconstruction::plm> {
  vd below, q0, q1;

  PLX_INLINE vd average() const { return q0; }
  PLX_INLINE void begin(vd, vd m2, vd m1, vd c0) { below = m2, q0 = m1, q1 = c0; }
  template <bool positive>
  PLX_INLINE void step(vd q2, vd& lower, vd& upper) {
    vd s = half_slope(q0 - below, q1 - q0);
    lower = clamp(q0 - s, vmin(q0, below), vmax(q0, below));
    upper = clamp(q0 + s, vmin(q0, q1), vmax(q0, q1));
    below = q0, q0 = q1, q1 = q2;
  }
};

template <>
struct line_window<reconstruction::mp5> {
  vd w[5];

  PLX_INLINE vd average() const { return w[3]; }
  PLX_INLINE void begin(vd m3, vd m2, vd m1, vd c0) { w[1] = m3, w[2] = m2, w[3] = m1, w[4] = c0; }
  template <bool positive>
  PLX_INLINE void step(vd q2, vd& lower, vd& upper) {
    for (int s = 0; s < 4; ++s) w[s] = w[s + 1];
    w[4] = q2;
    mp5_cell<positive>(w, lower, upper);
  }
};

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
