// Scheme `full3d`, the memory: a box of 8^3 cells is processed plane by plane, and the values at the points of a
// plane's cells are in scratch of some tens of KiB that the next group of axes reuses; they never leave the cache.
//
// All arrays of a plane have the pitch of the primitive variables' rows, so one index (a slot) serves all of them, and
// cells that are neighbours along an axis are a constant number of slots apart. Lanes run along x.
//
// Thread safety: values. Cost: none.
// Example: star/hydro/test/reference_full3d_test.cpp
#pragma once

#include "star/hydro/kernel/kernel_block.hpp"
#include "star/hydro/kernel/kernel_point.hpp"

namespace plx::star::PLX_HYDRO_ISA {

namespace {

constexpr int cube = 8;              ///< cells of a box along each axis
constexpr int pitch = cube + 2 * g;  ///< slots from row to row
constexpr int slots =
    pitch * (cube + 2) + 4;       ///< of a plane: rows -1 .. 8, and what vectors read beyond; 64 bytes * 18
constexpr int gas_variables = 5;  ///< reconstructed at all points; tracer and species at face centres only

/// Slot of cell (i, j) of a plane, i and j from -1.
constexpr int slot_of(int i, int j) { return (j + 1) * pitch + i + 1; }

/// Slots first .. first + length of `rows` rows.
struct region {
  int first, length, rows;
};

template <class F>
PLX_INLINE void for_slots(const region& r, F f) {
  for (int row = 0; row < r.rows; ++row)
    for (int s = 0; s < r.length; s += lanes) f(r.first + row * pitch + s);
}

/// One of the 13 axes by its step from cell to cell; z is 0 or 1.
struct axis_step {
  int x, y, z;
};
PLX_INLINE std::ptrdiff_t doubles(axis_step d) { return d.x + d.y * pitch + d.z * (pitch * pitch); }

/// Index of the direction (x, y, z) among 27.
PLX_INLINE int point_of(int x, int y, int z) { return 13 + x + 3 * y + 9 * z; }

/// Scratch of a box, in doubles from one base address; every part starts at a multiple of 64 bytes.
struct plane_workspace {
  double* primitive;      ///< [var][z + 2g][y + 2g][x + 2g], edges and corners too
  double* upper[2];       ///< [9][gas variable][slot]: values at points towards +z, of this plane and the one below
  double* other;          ///< [5][gas variable][slot]: values at other points, of one group of axes at a time
  double* sum[3];         ///< [gas variable][slot]: parts of Simpson's sums at the faces across x, y, z
  double* flux[3];        ///< [var][slot]: fluxes through faces across x and y, and through the plane's lower faces
  double* flux_below;     ///< [var][slot]: those of the plane below
  double* difference[3];  ///< [var + 1][z][y][x]; last: the work of gravity
  double* line;           ///< [3][var][lane]: species at one vector of faces
  double* end;
};

constexpr int box_cells = cube * cube * cube;
constexpr int primitive_cells = pitch * pitch * pitch;
constexpr int point_doubles = gas_variables * slots;
constexpr int most_lanes = 8;

PLX_INLINE plane_workspace divide_planes(double* base, int n_var) {
  auto take = [&base](std::ptrdiff_t n) __attribute__((always_inline)) {
    double* part = base;
    base += (n + 7) / 8 * 8;
    return part;
  };
  plane_workspace s{};
  for (double*& u : s.upper) u = take(9 * point_doubles);
  s.other = take(5 * point_doubles);
  for (double*& a : s.sum) a = take(point_doubles);
  for (double*& f : s.flux) f = take(n_var * slots);
  s.flux_below = take(n_var * slots);
  s.line = take(3 * n_var * most_lanes);
  for (double*& d : s.difference) d = take((n_var + 1) * box_cells);
  s.primitive = take(n_var * primitive_cells + 2 * most_lanes);
  s.end = base;
  return s;
}

/// A plane of a box, or one of the two adjacent ones (k = -1 and 8), of which only the points towards the box are
/// needed.
struct plane_task {
  const box_task& box;
  plane_workspace& s;
  int k;
  double* at[27];  ///< by point_of: values at these points of the plane's cells, of the current group

  bool inside() const { return k >= 0 && k < cube; }
  int n_var() const { return box.n_var; }
  /// The primitive variables at slot 0.
  const double* primitives() const { return s.primitive + ((k + g) * pitch + g - 1) * pitch + g - 1; }
};

// ---- Scheme `full3d`, a stage of a box: for each plane and each group of axes it computes the values at the points,
// then the fluxes there, summed by Simpson's rule. Groups are closed under mirrors: the diagonals in the planes xy, xz
// and yz (two axes each), the diagonals of the cell (four), the three axes along the edges.
//
// Tracer and species are transported with the sum of the nine mass fluxes, with their values at the face's centre: so
// the bounds of kernel_species.hpp hold unchanged (docs/decisions/0010-full3d.md).
//
// Cost: docs/decisions/0010-full3d.md.

template <bool steep, class Eos>
PLX_INLINE void reconstruct_region(const double* q, const double* pressure, std::ptrdiff_t axis, const Eos& eos,
                                   const region& r, double* minus, double* plus) {
  for_slots(
      r, [&](int s) __attribute__((always_inline)) {
        point_pair p;
        if constexpr (steep)
          p = reconstruct_density(q + s, pressure + s, axis, eos);
        else
          p = reconstruct_point(q + s, axis);
        store(minus + s, p.minus);
        store(plus + s, p.plus);
      });
}

/// The cells with points on this axis that faces of the box need: up to three regions.
PLX_INLINE int regions_for(const plane_task& t, axis_step d, region (&r)[3]) {
  if (!t.inside()) return r[0] = {slot_of(0, 0), cube, cube}, 1;
  if (d.x == 0) return r[0] = {slot_of(0, d.y != 0 ? -1 : 0), cube, d.y != 0 ? cube + 2 : cube}, 1;
  r[0] = {slot_of(-1, 0), slot_of(cube, cube - 1) - slot_of(-1, 0) + 1, 1};  // all rows at once
  if (d.y == 0) return 1;
  r[1] = {slot_of(0, -1), cube, 1}, r[2] = {slot_of(0, cube), cube, 1};
  return 3;
}

/// Computes both points of each cell on this axis; `next` counts the parts of `other` in use.
template <class Eos>
void reconstruct_axis(plane_task& t, axis_step d, int& next) {
  double* minus = t.s.other + next++ * point_doubles;
  double* plus =
      d.z > 0 ? t.s.upper[t.k & 1] + (d.x + 1 + 3 * (d.y + 1)) * point_doubles : t.s.other + next++ * point_doubles;
  t.at[point_of(-d.x, -d.y, -d.z)] = minus, t.at[point_of(d.x, d.y, d.z)] = plus;
  const hydro_parameters& p = t.box.p;
  const Eos eos(p.eos);
  const double* pressure = t.primitives() + i_pressure * primitive_cells;
  region r[3];
  const int count = regions_for(t, d, r);
  for (int c = 0; c < count; ++c)
    for (int v = 0; v < gas_variables; ++v) {
      const double* q = t.primitives() + v * primitive_cells;
      double *to_minus = minus + v * slots, *to_plus = plus + v * slots;
      if (v == i_density && p.contact_steepening)
        reconstruct_region<true>(q, pressure, doubles(d), eos, r[c], to_minus, to_plus);
      else
        reconstruct_region<false>(q, pressure, doubles(d), eos, r[c], to_minus, to_plus);
    }
}

/// The faces across an axis in a plane: each at the slot of the cell above it.
PLX_INLINE region faces_across(int axis) {
  if (axis == 0) return {slot_of(0, 0), slot_of(cube, cube - 1) - slot_of(0, 0) + 1, 1};
  return {slot_of(0, 0), cube, axis == 1 ? cube + 1 : cube};
}

/// States on both sides of points of faces: those below are shifted to the slot of the cell above.
template <int count>
struct face_points {
  const double *below[count], *above[count];
};

/// The point across `axis`, at (a, b) along the two others in cyclic order.
PLX_INLINE void look_up(const plane_task& t, int axis, int a, int b, const double*& below, const double*& above) {
  const int x = axis == 0 ? 1 : axis == 1 ? b : a, y = axis == 1 ? 1 : axis == 2 ? b : a, z = axis == 0 ? b : a;
  if (axis == 2) {
    below = t.s.upper[(t.k + 1) & 1] + (x + 1 + 3 * (y + 1)) * point_doubles;
    above = t.at[point_of(x, y, -1)];
  } else {
    below = t.at[point_of(x, y, z)] - (axis == 0 ? 1 : pitch);
    above = t.at[axis == 0 ? point_of(-1, y, z) : point_of(x, -1, z)];
  }
}

PLX_INLINE face_state load_point(const double* at, int axis) {
  const int n = i_velocity + axis, t = i_velocity + (axis + 1) % 3, b = i_velocity + (axis + 2) % 3;
  return {load(at), load(at + n * slots), load(at + t * slots), load(at + b * slots), load(at + i_energy * slots)};
}

/// Adds the fluxes at some points of each face; with the last part the sums are the fluxes.
template <class Eos, face_part part>
void add_fluxes(const plane_task& t, int axis, const face_points<points_in(part)>& points) {
  double* sum = t.s.sum[axis];
  const Eos eos(t.box.p.eos);
  for_slots(
      faces_across(axis), [&](int s) __attribute__((always_inline)) {
        constexpr int count = points_in(part);
        face_flux f[count];
        for (int p = 0; p < count; ++p)
          f[p] = hll(load_point(points.below[p] + s, axis), load_point(points.above[p] + s, axis), eos);
        if constexpr (count > 1) f[0] = f[0] + f[1];
        if constexpr (count > 2) f[0] = f[0] + (f[2] + f[3]);
        const vd values[gas_variables] = {f[0].mass, f[0].n, f[0].t, f[0].b, f[0].energy};
        for (int v = 0; v < gas_variables; ++v) {
          double* to = sum + v * slots + s;
          vd so_far = all(0.0);
          if constexpr (part != face_part::edges_a) so_far = load(to);
          store(to, simpson<part>(so_far, values[v]));
        }
      });
}

/// Adds the two points of faces across `axis` on the other axis `along`.
template <class Eos, face_part part>
void add_edges(const plane_task& t, int axis, int along) {
  const bool first = along == (axis + 1) % 3;
  face_points<2> points;
  for (int p = 0; p < 2; ++p) {
    const int side = 2 * p - 1;
    look_up(t, axis, first ? side : 0, first ? 0 : side, points.below[p], points.above[p]);
  }
  add_fluxes<Eos, part>(t, axis, points);
}

/// Adds opposite corners first: every mirror and permutation keeps them opposite.
template <class Eos>
void add_corners(const plane_task& t, int axis) {
  constexpr int a[4] = {-1, 1, -1, 1}, b[4] = {-1, 1, 1, -1};
  face_points<4> points;
  for (int p = 0; p < 4; ++p) look_up(t, axis, a[p], b[p], points.below[p], points.above[p]);
  add_fluxes<Eos, face_part::corners>(t, axis, points);
}

template <class Eos>
void add_centre(const plane_task& t, int axis) {
  face_points<1> points;
  look_up(t, axis, 0, 0, points.below[0], points.above[0]);
  add_fluxes<Eos, face_part::centre>(t, axis, points);
}

/// Fluxes of tracer and species at `lanes` faces: upwind with the mass flux of the gas, from values at the face's
/// centre. Before them the fluxes of the gas are limited to positive updates.
template <class Eos>
PLX_INLINE void complete_fluxes(const plane_task& t, const line_view& line, const Eos& eos, double step) {
  const int n_var = t.n_var();
  for (int v = i_tracer; v < n_var; ++v) reconstruct_variable<reconstruction::ppm, true>(line, v);
  const vd mass = load(line.flux);
  const std::ptrdiff_t tracer = i_tracer * line.faces;
  vd upwind = select(less(mass, all(0.0)), load(line.right + tracer), load(line.left + tracer));
  store(line.flux + tracer, mass * upwind);
  limit_fluxes<false>(line, eos, step);
  if (n_var > i_species) species_fluxes(line, n_var - i_species, step);
}

/// The velocity of the mesh at the centres of faces across an axis; a vector may continue in the next row.
PLX_INLINE mesh_velocity velocity_of_faces(const plane_task& t, int axis, int slot) {
  const box_task& b = t.box;
  const block_place& place = b.in.place;
  double x[lanes], y[lanes];
  for (int l = 0; l < lanes; ++l) {
    const int i = b.x0 + (slot + l) % pitch - 1, j = b.y0 + (slot + l) / pitch - 1;
    x[l] = axis == 0 ? place.face(0, i) : place.centre(0, i);
    y[l] = axis == 1 ? place.face(1, j) : place.centre(1, j);
  }
  return velocity_of_mesh(b.p.omega, load(x), load(y));
}

/// Computes the fluxes of all variables through the faces across an axis, from the sums.
template <class Eos>
void finish_fluxes(const plane_task& t, int axis) {
  const Eos eos(t.box.p.eos);
  const std::ptrdiff_t step_of[3] = {1, pitch, pitch * pitch};
  const std::ptrdiff_t lines = t.n_var() * most_lanes;
  const int n = i_velocity + axis, tt = i_velocity + (axis + 1) % 3, b = i_velocity + (axis + 2) % 3;
  for_slots(
      faces_across(axis), [&](int s) __attribute__((always_inline)) {
        const line_view line{t.primitives() + s,
                             step_of[axis],
                             primitive_cells,
                             0,
                             t.s.line,
                             t.s.line + lines,
                             t.s.line + 2 * lines,
                             most_lanes,
                             n,
                             tt,
                             b};
        const double* sum = t.s.sum[axis] + s;
        store_flux(line, 0,
                   {load(sum), load(sum + slots), load(sum + 2 * slots), load(sum + 3 * slots), load(sum + 4 * slots)});
        complete_fluxes(t, line, eos, t.box.step());
        if (t.box.p.omega != 0.0)
          store_flux(line, 0, in_inertial_frame(load_flux(line, 0), axis, velocity_of_faces(t, axis, s)));
        double* flux = t.s.flux[axis] + s;
        for (int v = 0; v < t.n_var(); ++v) store(flux + v * slots, load(line.flux + v * line.faces));
      });
}

/// Computes all fluxes of a plane: through its faces across x and y, and through its lower faces across z.
template <class Eos>
void advance_plane(plane_task& t) {
  const bool inside = t.inside(), lower = t.k >= 0;
  constexpr axis_step in_xy[] = {{1, 1, 0}, {1, -1, 0}}, in_xz[] = {{1, 0, 1}, {-1, 0, 1}};
  constexpr axis_step in_yz[] = {{0, 1, 1}, {0, -1, 1}};
  constexpr axis_step diagonals[] = {{1, 1, 1}, {-1, 1, 1}, {1, -1, 1}, {-1, -1, 1}};
  int next = 0;
  if (inside) {
    for (axis_step d : in_xy) reconstruct_axis<Eos>(t, d, next);
    add_edges<Eos, face_part::edges_a>(t, 0, 1);
    add_edges<Eos, face_part::edges_a>(t, 1, 0);
  }
  next = 0;
  for (axis_step d : in_xz) reconstruct_axis<Eos>(t, d, next);
  if (inside) add_edges<Eos, face_part::edges_b>(t, 0, 2);
  if (lower) add_edges<Eos, face_part::edges_a>(t, 2, 0);
  next = 0;
  for (axis_step d : in_yz) reconstruct_axis<Eos>(t, d, next);
  if (inside) add_edges<Eos, face_part::edges_b>(t, 1, 2);
  if (lower) add_edges<Eos, face_part::edges_b>(t, 2, 1);
  next = 0;
  for (axis_step d : diagonals) reconstruct_axis<Eos>(t, d, next);
  for (int axis = 0; axis < 3; ++axis)
    if (axis < 2 ? inside : lower) add_corners<Eos>(t, axis);
  next = 0;
  if (inside) reconstruct_axis<Eos>(t, {1, 0, 0}, next), reconstruct_axis<Eos>(t, {0, 1, 0}, next);
  reconstruct_axis<Eos>(t, {0, 0, 1}, next);
  for (int axis = 0; axis < 3; ++axis)
    if (axis < 2 ? inside : lower) add_centre<Eos>(t, axis), finish_fluxes<Eos>(t, axis);
}

/// Writes F[+] - F[-] of a plane's cells, `above` slots apart, to plane k of the differences.
PLX_INLINE void difference_plane(const plane_task& t, int axis, int k, const double* below, const double* above) {
  for (int v = 0; v < t.n_var(); ++v)
    for (int j = 0; j < cube; ++j)
      for (int i = 0; i < cube; i += lanes) {
        const int s = v * slots + slot_of(i, j);
        store(t.s.difference[axis] + v * box_cells + (k * cube + j) * cube + i, load(above + s) - load(below + s));
      }
}

/// The work of gravity in a plane's cells, as one more variable; arguments as above.
PLX_INLINE void sum_plane_work(const plane_task& t, int axis, int k, const double* below, const double* above) {
  const box_task& b = t.box;
  if (!b.in.potential) return;
  const std::ptrdiff_t edge = b.in.n + 4, step = axis == 0 ? 1 : axis == 1 ? edge : edge * edge;
  const std::ptrdiff_t cell_step = axis == 0 ? 1 : axis == 1 ? pitch : pitch * pitch;
  const double* plane = t.s.primitive + ((k + g) * pitch + g - 1) * pitch + g - 1;
  for (int j = 0; j < cube; ++j)
    for (int i = 0; i < cube; i += lanes) {
      const double* at = b.in.potential + ((b.z0 + k + 2) * edge + b.y0 + j + 2) * edge + b.x0 + i + 2;
      const int s = slot_of(i, j);
      vd phi[5], momentum[3];
      for (int c = 0; c < 5; ++c) phi[c] = load(at + (c - 2) * step);
      for (int c = 0; c < 3; ++c) {
        const double* w = plane + s + (c - 1) * cell_step;
        momentum[c] = load(w) * load(w + (i_velocity + axis) * primitive_cells);
      }
      store(t.s.difference[axis] + t.n_var() * box_cells + (k * cube + j) * cube + i,
            work_of(load(below + s), momentum[1] - momentum[0], {phi[0], phi[1], phi[2], phi[3]}).above +
                work_of(load(above + s), momentum[2] - momentum[1], {phi[1], phi[2], phi[3], phi[4]}).below);
    }
}

/// Stores a plane's share of the fluxes through the block's faces, if requested.
void keep_side_fluxes(const plane_task& t) {
  const box_task& b = t.box;
  const std::ptrdiff_t area = std::ptrdiff_t{b.in.n} * b.in.n;
  for (int upper = 0; upper < 2; ++upper) {
    const int at = upper * cube;
    double* x = t.inside() ? side_flux(b, upper, b.x0 + at == upper * b.in.n, b.z0 + t.k, b.y0) : nullptr;
    double* y = t.inside() ? side_flux(b, 2 + upper, b.y0 + at == upper * b.in.n, b.z0 + t.k, b.x0) : nullptr;
    double* z = t.k == at ? side_flux(b, 4 + upper, b.z0 + at == upper * b.in.n, b.y0, b.x0) : nullptr;
    for (int v = 0; v < t.n_var(); ++v)
      for (int c = 0; c < cube; ++c) {
        if (x) x[v * area + c] = t.s.flux[0][v * slots + slot_of(at, c)];
        if (y) y[v * area + c] = t.s.flux[1][v * slots + slot_of(c, at)];
        if (z)
          for (int r = 0; r < cube; ++r) z[v * area + r * b.in.n + c] = t.s.flux[2][v * slots + slot_of(c, r)];
      }
  }
}

template <class Eos>
void advance_cube(const box_task& box, plane_workspace& s, tally& sums) {
  for (int k = -1; k <= cube; ++k) {
    plane_task t{box, s, k, {}};
    advance_plane<Eos>(t);
    if (t.inside()) {
      difference_plane(t, 0, k, s.flux[0], s.flux[0] + 1);
      difference_plane(t, 1, k, s.flux[1], s.flux[1] + pitch);
      sum_plane_work(t, 0, k, s.flux[0], s.flux[0] + 1);
      sum_plane_work(t, 1, k, s.flux[1], s.flux[1] + pitch);
    }
    if (k > 0) {
      difference_plane(t, 2, k - 1, s.flux_below, s.flux[2]);
      sum_plane_work(t, 2, k - 1, s.flux_below, s.flux[2]);
    }
    keep_side_fluxes(t);
    double* below = s.flux_below;
    s.flux_below = s.flux[2], s.flux[2] = below;
  }
  for (int k = 0; k < cube; ++k)
    for (int j = 0; j < cube; ++j)
      for (int i = 0; i < cube; i += lanes) {
        const int c = (k * cube + j) * cube + i;
        update_cells<Eos>(box, i, j, k,
                          {s.difference[0] + c, s.difference[1] + c, s.difference[2] + c, box_cells, box_cells}, sums);
      }
}

/// Converts the box and all its ghost cells to primitive variables.
template <class Eos>
bool convert_cube(const box_task& t) {
  bool floored = false;
  for (int k = -g; k < cube + g; ++k)
    for (int j = -g; j < cube + g; ++j) floored |= convert_row<Eos>(t, -g, cube + g, j, k);
  return floored;
}

template <class Eos>
bool advance_block_full3d(const hydro_parameters& p, const stage_input& in, stage_output& out, double* scratch,
                          tally& sums) {
  const int n_var = variable_count(p);
  plane_workspace s = divide_planes(scratch, n_var);
  workspace w{};
  w.primitive = s.primitive;
  bool floored = false;
  for (int z = 0; z < in.n; z += cube)
    for (int y = 0; y < in.n; y += cube)
      for (int x = 0; x < in.n; x += cube) {
        const box_task task{p, in, out, w, {cube, cube, cube}, x, y, z, n_var};
        floored |= convert_cube<Eos>(task);
        advance_cube<Eos>(task, s, sums);
      }
  return floored;
}

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
