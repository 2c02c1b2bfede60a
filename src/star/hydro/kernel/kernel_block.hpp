// A whole stage of a block, box by box (a box is 8 or 16 cells wide, so that all of its scratch stays in the level-two
// cache): primitive variables of the box and its arms, z sweep, then plane by plane the x and y sweeps and the update.
//
// The lanes of a vector run along x, the memory order, in the y and z sweeps. In the x sweep they run along y, over a
// transposed copy of the plane: 9 faces of a row of 8 cells would leave 7 of 16 lanes idle.
//
// Thread safety: writes scratch and its outputs only. Cost: docs/decisions/0001-simd.md.
// Example: star/hydro/test/stage_test.cpp
#pragma once

#include "star/hydro/kernel/kernel_spin.hpp"
#include "star/hydro/kernel/kernel_sweep.hpp"
#include "star/hydro/kernel/kernel_update.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

constexpr int g = ghost_layers;

/// Cells of a box along x, y, z.
struct box_shape {
  int x, y, z;
};
PLX_INLINE box_shape shape_for(int n) {
  const int wide = n % 16 == 0 ? 16 : 8;
  return {wide, wide, 8};
}

/// Scratch of a box, in doubles from one base address; every part starts at a multiple of 64 bytes.
struct workspace {
  double* primitive;     ///< [var + 1 (+ 9)][z + 2g][y + 2g][x + 2g]; edges and corners are not filled, but with spin
                         ///< the layer beside edges; after the variables: the potential, then kernel_spin.hpp
  double* z_difference;  ///< [var + 1][z][y][x]; last, as in those below: the work of gravity
  double* plane;         ///< [var + 1 (+ 3)][x + 2g][y]: one plane of them, transposed
  double* x_transposed;  ///< [var + 1][x][y]
  double* x_difference;  ///< [var + 1][y][x]
  double* y_difference;  ///< [var + 1][y][x]
  double* left;          ///< [var][face][lane], and the two below
  double* right;
  double* flux;
  std::ptrdiff_t faces;
  double* end;
};

PLX_INLINE workspace divide_scratch(double* base, const hydro_parameters& p, box_shape b) {
  auto take = [&base](std::ptrdiff_t doubles) __attribute__((always_inline)) {
    double* part = base;
    base += (doubles + 7) / 8 * 8;
    return part;
  };
  const std::ptrdiff_t v = variable_count(p), moments = p.spin ? 3 : 0;
  workspace s{};
  s.faces = (b.x + 1) * 8;
  s.left = take(v * s.faces);
  s.right = take(v * s.faces);
  s.flux = take(v * s.faces);
  s.plane = take((v + 1 + moments) * (b.x + 2 * g) * b.y);
  s.x_transposed = take((v + 1) * b.x * b.y);
  s.x_difference = take((v + 1) * b.x * b.y);
  s.y_difference = take((v + 1) * b.x * b.y);
  s.z_difference = take((v + 1) * b.x * b.y * b.z);
  s.primitive = take((v + 1 + 3 * moments) * (b.x + 2 * g) * (b.y + 2 * g) * (b.z + 2 * g) + 8);
  s.end = base;
  return s;
}

/// One box of a block at cell (x, y, z).
struct box_task {
  const hydro_parameters& p;
  const stage_input& in;
  stage_output& out;
  workspace s;
  box_shape b;
  int x0, y0, z0;
  int n_var;

  std::ptrdiff_t tile_edge() const { return in.n + 2 * g; }
  std::ptrdiff_t tile_variable() const { return tile_edge() * tile_edge() * tile_edge(); }
  /// Cell (i, j, k) of the box, ghosts from -g, in the tile.
  std::ptrdiff_t in_tile(int i, int j, int k) const {
    return ((z0 + k + g) * tile_edge() + (y0 + j + g)) * tile_edge() + (x0 + i + g);
  }
  std::ptrdiff_t row() const { return b.x + 2 * g; }
  std::ptrdiff_t slice() const { return row() * (b.y + 2 * g); }
  std::ptrdiff_t primitive_variable() const { return slice() * (b.z + 2 * g); }
  std::ptrdiff_t in_primitive(int i, int j, int k) const { return (k + g) * slice() + (j + g) * row() + (i + g); }
  double* cell(int i, int j, int k) const { return s.primitive + in_primitive(i, j, k); }
  vd spin_at(int a, int i, int j, int k) const {
    return load(in.tile + (variable_count(p.n_species) + a) * tile_variable() + in_tile(i, j, k));
  }
  double dx() const { return in.place.dx; }
  double step() const { return in.dt / in.place.dx; }
  /// A coordinate of cell `at` of the box; of cells at, at + 1, ...
  double centre(int axis, int at) const { return in.place.centre(axis, (axis == 0 ? x0 : axis == 1 ? y0 : z0) + at); }
  vd centres(int axis, int at) const {
    double x[lanes];
    for (int l = 0; l < lanes; ++l) x[l] = centre(axis, at + l);
    return load(x);
  }
  /// The variables of `primitive`, `plane` and the differences.
  int stored() const { return n_var + (in.potential ? 1 : 0); }
  /// The first of the three variables in `primitive`, and for the axis 0 in `plane`, that find_spin_at() finds
  /// for the faces across an axis.
  int moments_across(int axis) const { return n_var + 1 + 3 * axis; }
  /// The potential at a cell of `primitive` or `plane`, or nullptr.
  const double* potential_at(const double* cell, std::ptrdiff_t variable) const {
    return in.potential ? cell + n_var * variable : nullptr;
  }
};

/// Makes the velocities of cells [from, to) of a row relative to the mesh.
PLX_INLINE void subtract_mesh_velocity(const box_task& t, int from, int to, int j, int k) {
  double* u = t.s.primitive + t.in_primitive(0, j, k) + i_velocity * t.primitive_variable();
  double* v = u + t.primitive_variable();
  const double y = t.centre(1, j);
  for (int i = from; i < to; ++i) {
    u[i] = u[i] + t.p.omega * y;
    v[i] = v[i] - t.p.omega * t.centre(0, i);
  }
}

/// Converts cells [from, to) of a row; the last vector may overlap the previous one. Returns true if a floor was
/// needed.
template <class Eos>
PLX_INLINE bool convert_row(const box_task& t, int from, int to, int j, int k) {
  bool floored = false;
  for (int i = from; i < to; i += lanes) {
    const int start = i + lanes <= to ? i : to - lanes;
    floored |=
        to_primitive<Eos>(t.p, variable_count(t.p.n_species), t.in.tile + t.in_tile(start, j, k), t.tile_variable(),
                          t.s.primitive + t.in_primitive(start, j, k), t.primitive_variable());
  }
  if (t.p.omega != 0.0) subtract_mesh_velocity(t, from, to, j, k);
  return floored;
}

/// Copies the potential of the box and the two layers around it.
PLX_INLINE void copy_potential(const box_task& t) {
  if (!t.in.potential) return;
  const std::ptrdiff_t edge = t.in.n + 4;
  double* to = t.s.primitive + t.n_var * t.primitive_variable();
  for (int k = -2; k < t.b.z + 2; ++k)
    for (int j = -2; j < t.b.y + 2; ++j) {
      const double* from = t.in.potential + ((t.z0 + k + 2) * edge + t.y0 + j + 2) * edge + t.x0 + 2;
      for (int i = -2; i < t.b.x + 2; ++i) to[t.in_primitive(i, j, k)] = from[i];
    }
}

/// How many cells beyond both ends of the box are read in row (j, k), or -1 if none of the row is.
PLX_INLINE int arm_of(const box_task& t, int j, int k) {
  const auto beyond = [](int x, int n) { return x < 0 ? -x : x >= n ? x - n + 1 : 0; };
  const int y = beyond(j, t.b.y), z = beyond(k, t.b.z);
  if (y == 0 && z == 0) return g;
  if (y == 0 || z == 0) return t.p.spin && y + z == 1 ? 1 : 0;
  return t.p.spin && y == 1 && z == 1 ? 0 : -1;
}

/// The box and its six arms of g layers; with spin, also the cells beside those of the arms' first layers.
template <class Eos>
bool convert_box(const box_task& t) {
  bool floored = false;
  for (int k = -g; k < t.b.z + g; ++k)
    for (int j = -g; j < t.b.y + g; ++j)
      if (const int arm = arm_of(t, j, k); arm >= 0) floored |= convert_row<Eos>(t, -arm, t.b.x + arm, j, k);
  return floored;
}

/// The cells of the box, and those beside its faces.
PLX_INLINE void find_spin(const box_task& t) {
  for (int k = -1; k <= t.b.z; ++k)
    for (int j = -1; j <= t.b.y; ++j) {
      const bool beyond_y = j < 0 || j == t.b.y, beyond_z = k < 0 || k == t.b.z;
      if (beyond_y && beyond_z) continue;
      const int from = beyond_y || beyond_z ? 0 : -1, to = t.b.x - from;
      for (int i = from; i < to; i += lanes) find_spin_at(t, i + lanes <= to ? i : to - lanes, j, k);
    }
}

/// The part of a face's flux array that belongs to a line of this box, or nullptr: (slow, fast) as in stage_output.
PLX_INLINE double* side_flux(const box_task& t, int side, bool touches, int slow, int fast) {
  double* f = t.out.face_flux[side];
  return f && touches ? f + slow * t.in.n + fast : nullptr;
}

template <reconstruction scheme, riemann_solver solver, class Eos>
void sweep_z(const box_task& t) {
  const std::ptrdiff_t area = std::ptrdiff_t{t.in.n} * t.in.n;
  for (int j = 0; j < t.b.y; ++j)
    for (int i = 0; i < t.b.x; i += lanes) {
      line_view line{t.s.primitive + t.in_primitive(i, j, 0),
                     t.slice(),
                     t.primitive_variable(),
                     t.b.z,
                     t.s.left,
                     t.s.right,
                     t.s.flux,
                     t.s.faces,
                     i_velocity + 2,
                     i_velocity,
                     i_velocity + 1};
      sweep_output out{t.s.z_difference + j * t.b.x + i,
                       t.b.x * t.b.y,
                       t.b.x * t.b.y * t.b.z,
                       side_flux(t, 4, t.z0 == 0, t.y0 + j, t.x0 + i),
                       side_flux(t, 5, t.z0 + t.b.z == t.in.n, t.y0 + j, t.x0 + i),
                       area,
                       t.potential_at(line.w, line.variable)};
      sweep<scheme, solver, Eos>(t.p, line, t.step(), {t.centres(0, i), all(t.centre(1, j)), t.in.place, 0}, out);
    }
}

template <reconstruction scheme, riemann_solver solver, class Eos>
void sweep_y(const box_task& t, int k) {
  const std::ptrdiff_t area = std::ptrdiff_t{t.in.n} * t.in.n;
  for (int i = 0; i < t.b.x; i += lanes) {
    line_view line{t.s.primitive + t.in_primitive(i, 0, k),
                   t.row(),
                   t.primitive_variable(),
                   t.b.y,
                   t.s.left,
                   t.s.right,
                   t.s.flux,
                   t.s.faces,
                   i_velocity + 1,
                   i_velocity + 2,
                   i_velocity};
    sweep_output out{t.s.y_difference + i,
                     t.b.x,
                     t.b.x * t.b.y,
                     side_flux(t, 2, t.y0 == 0, t.z0 + k, t.x0 + i),
                     side_flux(t, 3, t.y0 + t.b.y == t.in.n, t.z0 + k, t.x0 + i),
                     area,
                     t.potential_at(line.w, line.variable)};
    sweep<scheme, solver, Eos>(t.p, line, t.step(), {t.centres(0, i), all(0.0), t.in.place, t.y0}, out);
  }
}

/// Transposes [rows][columns] per variable; both are multiples of `lanes`, except columns: the last part may overlap.
PLX_INLINE void transpose_plane(const double* from, std::ptrdiff_t from_row, double* to, std::ptrdiff_t to_row,
                                int rows, int columns) {
  for (int r = 0; r < rows; r += lanes)
    for (int c = 0; c < columns; c += lanes) {
      const int start = c + lanes <= columns ? c : columns - lanes;
      transpose(from + r * from_row + start, from_row, to + start * to_row + r, to_row);
    }
}

template <reconstruction scheme, riemann_solver solver, class Eos>
void sweep_x(const box_task& t, int k) {
  const std::ptrdiff_t area = std::ptrdiff_t{t.in.n} * t.in.n;
  const std::ptrdiff_t plane_variable = t.row() * t.b.y, box_area = t.b.x * t.b.y;
  const auto take = [&](int v) {
    transpose_plane(t.s.primitive + v * t.primitive_variable() + t.in_primitive(-g, 0, k), t.row(),
                    t.s.plane + v * plane_variable, t.b.y, t.b.y, t.b.x + 2 * g);
  };
  for (int v = 0; v < t.stored(); ++v) take(v);
  for (int v = 0; t.p.spin && v < 3; ++v) take(t.moments_across(0) + v);
  for (int j = 0; j < t.b.y; j += lanes) {
    line_view line{t.s.plane + g * t.b.y + j,
                   t.b.y,
                   plane_variable,
                   t.b.x,
                   t.s.left,
                   t.s.right,
                   t.s.flux,
                   t.s.faces,
                   i_velocity,
                   i_velocity + 1,
                   i_velocity + 2};
    sweep_output out{t.s.x_transposed + j,
                     t.b.y,
                     box_area,
                     side_flux(t, 0, t.x0 == 0, t.z0 + k, t.y0 + j),
                     side_flux(t, 1, t.x0 + t.b.x == t.in.n, t.z0 + k, t.y0 + j),
                     area,
                     t.potential_at(line.w, line.variable)};
    sweep<scheme, solver, Eos>(t.p, line, t.step(), {all(0.0), t.centres(1, j), t.in.place, t.x0}, out);
  }
  for (int v = 0; v < t.stored(); ++v)
    transpose_plane(t.s.x_transposed + v * box_area, t.b.y, t.s.x_difference + v * box_area, t.b.x, t.b.x, t.b.y);
}

/// Largest total energy of a cell and its six neighbours in the tile.
PLX_INLINE vd energy_around(const box_task& t, const double* energy) {
  const std::ptrdiff_t dy = t.tile_edge(), dz = dy * dy;
  vd x = vmax(load(energy - 1), load(energy + 1)), y = vmax(load(energy - dy), load(energy + dy));
  vd z = vmax(load(energy - dz), load(energy + dz));
  return vmax(vmax(x, load(energy)), vmax(y, z));
}

/// Flux differences along x, y and z at a cell, and the distances between variables in them.
struct cell_differences {
  const double *x, *y, *z;
  std::ptrdiff_t xy_variable, z_variable;
};

template <class Eos>
PLX_INLINE void update_cells(const box_task& t, int i, int j, int k, const cell_differences& d, tally& sums) {
  const int n = t.in.n;
  const std::ptrdiff_t cells = std::ptrdiff_t{n} * n * n, cell = ((t.z0 + k) * n + t.y0 + j) * n + t.x0 + i;
  const double* tile = t.in.tile + t.in_tile(i, j, k);
  const vd step = all(t.step()), weight = all(t.in.weight), zero = all(0.0);
  vd finite = zero;
  for (int v = 0; v < t.n_var; ++v) {
    vd x = load(d.x + v * d.xy_variable), y = load(d.y + v * d.xy_variable), z = load(d.z + v * d.z_variable);
    vd u = load(tile + v * t.tile_variable()), u_old = load(t.in.u_old + v * cells + cell);
    vd u_new = u_old + weight * ((u - u_old) - step * sum3(x, y, z));
    store(t.out.u_new + v * cells + cell, u_new);
    finite = finite + u_new * zero;
    if (v == i_density || v == i_energy) finite = finite + (x + y + z) * zero;  // sum3 may lose a NaN
  }
  if (t.in.potential) {
    store(t.out.work + cell, load(d.x + t.n_var * d.xy_variable));
    store(t.out.work + cells + cell, load(d.y + t.n_var * d.xy_variable));
    store(t.out.work + 2 * cells + cell, load(d.z + t.n_var * d.z_variable));
  }
  settle<Eos>(
      t.p, t.out.u_new + cell, cells, finite, energy_around(t, tile + i_energy * t.tile_variable()),
      static_cast<int>(cell), every_lane,
      [&](int axis) __attribute__((always_inline)) {
        return axis == 0 ? t.centres(0, i) : all(t.centre(axis, axis == 1 ? j : k));
      },
      [&]() __attribute__((always_inline)) {
        return target_of(t.out.added, t.p, t.dx(), n, t.x0 + i, t.y0 + j, t.z0 + k);
      },
      sums);
}

template <reconstruction scheme, riemann_solver solver, class Eos>
void advance_box(const box_task& t, tally& sums) {
  const std::ptrdiff_t area = t.b.x * t.b.y;
  sweep_z<scheme, solver, Eos>(t);
  for (int k = 0; k < t.b.z; ++k) {
    sweep_x<scheme, solver, Eos>(t, k);
    sweep_y<scheme, solver, Eos>(t, k);
    for (int j = 0; j < t.b.y; ++j)
      for (int i = 0; i < t.b.x; i += lanes) {
        const std::ptrdiff_t c = j * t.b.x + i;
        update_cells<Eos>(
            t, i, j, k,
            {t.s.x_difference + c, t.s.y_difference + c, t.s.z_difference + k * area + c, area, area * t.b.z}, sums);
      }
  }
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
