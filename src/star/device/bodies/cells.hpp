// Single cells, as the threads of a body use them: reading those of a block and across its faces in place, settling and
// reporting new values, means and children of cells between levels.
//
// Thread safety: pure, but for the reports. Cost: reading a cell, an address; floors, about 250 operations; a mean 15,
// eight children about 60.
// Example: star/device/bodies/stage_body.hpp, star/device/bodies/ghosts_body.hpp
#pragma once

#include "mesh/between/family_limits.hpp"
#include "star/device/bodies/body.hpp"
#include "star/device/data/step_data.hpp"
#include "star/hydro/kernel/kernel_simd.hpp"
#include "star/hydro/kernel/kernel_update.hpp"

namespace plx::star::PLX_HYDRO_ISA {

// ---- the cells of a block and those across its faces, read in place: from the block's memory, a neighbour's, or a
// slab of ghost cells that was computed from other levels

namespace {

constexpr int ghost_depth = ghost_layers;

/// A cell's values, `variable` doubles apart, and the treatment of the momentum across the face.
struct cell_values {
  const double* first;
  std::ptrdiff_t variable;
  enum { as_it_is, outward_up, outward_down, negated } normal;
};

PLX_INLINE double turned(double x, int how) {
  return how == cell_values::as_it_is     ? x
         : how == cell_values::negated    ? -x
         : how == cell_values::outward_up ? vabs(x)
                                          : -vabs(x);
}

/// Cell x of the block, or one across a face: at most one coordinate is outside, by up to three cells. Arguments: with
/// n, source, slabs and inflow, as device::stage_arguments.
template <class Arguments>
PLX_INLINE cell_values cell_at(const Arguments& a, const device::block_item& block, int n_var, int i, int j, int k) {
  using device::ghosts_from;
  const int n = a.n;
  const std::ptrdiff_t sy = n, sz = static_cast<std::ptrdiff_t>(n) * n, volume = sz * n;
  const int axis = i < 0 || i >= n ? 0 : j < 0 || j >= n ? 1 : k < 0 || k >= n ? 2 : -1;
  const std::ptrdiff_t inside = i + j * sy + k * sz;
  if (axis < 0) return {a.source + block.values + inside, volume, cell_values::as_it_is};
  const int at = axis == 0 ? i : axis == 1 ? j : k;
  const bool upper = at >= n;
  const std::ptrdiff_t step = axis == 0 ? 1 : axis == 1 ? sy : sz;
  const int face = 2 * axis + (upper ? 1 : 0), beyond = upper ? at - n : -1 - at;  // 0, 1, 2
  const device::ghost_source from = block.face[face];
  const auto in_layers = [&] {  // of a slab
    const int width_x = axis == 0 ? ghost_depth : n, width_y = axis == 1 ? ghost_depth : n;
    const int layer = upper ? beyond : ghost_depth - 1 - beyond;
    const int x = axis == 0 ? layer : i, y = axis == 1 ? layer : j, z = axis == 2 ? layer : k;
    return from.origin + (static_cast<std::ptrdiff_t>(z) * width_y + y) * width_x + x;
  };
  ghosts_from kind = from.kind;
  if (kind == ghosts_from::given) {
    if (a.given != nullptr && a.given[in_layers()] > 0.0)
      return {a.given + in_layers(), ghost_depth * sz, cell_values::as_it_is};
    kind = a.given != nullptr ? ghosts_from::reflecting : ghosts_from::zero_gradient;
  }
  switch (kind) {
    case ghosts_from::block:
      return {a.source + from.origin + inside + (upper ? -n : n) * step, volume, cell_values::as_it_is};
    case ghosts_from::slab:
      return {a.slabs + in_layers(), ghost_depth * sz, cell_values::as_it_is};
    case ghosts_from::outflow:
    case ghosts_from::zero_gradient: {
      const bool as_it_is = kind == ghosts_from::zero_gradient;
      return {a.source + block.values + inside + ((upper ? n - 1 : 0) - at) * step, volume,
              as_it_is ? cell_values::as_it_is
              : upper  ? cell_values::outward_up
                       : cell_values::outward_down};
    }
    case ghosts_from::reflecting:
      return {a.source + block.values + inside + ((upper ? n - 1 - beyond : beyond) - at) * step, volume,
              cell_values::negated};
    case ghosts_from::inflow:
    case ghosts_from::given:
      break;
  }
  return {a.inflow + face * n_var, 1, cell_values::as_it_is};
}

// ---- floors and the dual-energy rules for cells in the memory of a block, and the report of a thread on its cells

/// Where a group of threads adds what floors change in a cell of width dx with that potential, or nullptr. Shapes: to:
/// [added_copies][n_var].
PLX_INLINE floor_target target_of_group(const floor_sums& to, int group, const hydro_parameters& p, double dx,
                                        const double* potential) {
  const int copy = group % device::added_copies * variable_count(p);
  return {to.sums == nullptr ? nullptr : to.sums + copy, to.weight * (dx * dx * dx), spin_variable(p), potential};
}

/// The potential at cell (i, j, k) of a block, two layers around it included, or nullptr: none.
template <class Arguments>
PLX_INLINE const double* potential_in(const Arguments& a, const device::block_item& block, int i, int j, int k) {
  if (a.potential == nullptr) return nullptr;
  const std::int64_t edge = a.n + 4;
  return a.potential + a.potential_rows[block.slot] * (edge * edge * edge) + in_potential(a.n, i, j, k);
}

/// Settles cell `index` of a block in place, as check_cells() does. Shapes: u: its variables, `variable` doubles apart.
template <class Eos, class Centre, class Target>
PLX_INLINE void settle_stored(const hydro_parameters& p, double* u, std::ptrdiff_t variable, int index, Centre centre,
                              Target target, tally& sums) {
  double finite = 0.0;
  for (int v = 0; v < variable_count(p); ++v) finite = finite + u[v * variable] * 0.0;
  settle<Eos>(p, u, variable, finite, 0.0, index, every_lane, centre, target, sums);
}

/// Adds the results of a thread's cells to the block's report. `part`: of device::bad_key().
PLX_INLINE void report_cells(device::block_report& report, bool last, int stage, int part, const tally& sums) {
  if (last) raise_together(&report.speed_bits, sums.signal_speed);
  if (sums.density_floors != 0) add_to(&report.density_floors, static_cast<std::uint64_t>(sums.density_floors));
  if (sums.pressure_floors != 0) add_to(&report.pressure_floors, static_cast<std::uint64_t>(sums.pressure_floors));
  if (sums.added_terms != 0) add_to(&report.added_terms, static_cast<std::uint64_t>(sums.added_terms));
  if (sums.first_bad >= 0) lower_to(&report.bad, device::bad_key(stage, part, sums.first_bad));
}

// ---- transfer between levels. The bits are those of the vectors in mesh/between/level_kernels_body.hpp. Children get
// their values field by field, or group by group of those with a common limiter, and are then limited to positive
// internal energies family by family (mesh/between/family_limits.hpp).

/// The mean of the eight cells from `f` on.
PLX_INLINE double mean_of_eight(const double* f, std::ptrdiff_t row, std::ptrdiff_t plane) {
  const double* up = f + plane;
  return 0.125 * mesh::sum8(f[0], f[1], f[row], f[row + 1], up[0], up[1], up[row], up[row + 1]);
}

/// The eight children of a cell, bit 0 of the index along x, from it and its six neighbours (x lower, x upper, ...).
PLX_INLINE void children_of(double c, const double (&near)[6], bool central, double (&child)[8]) {
  double lower[3], upper[3], s[3];
  for (int a = 0; a < 3; ++a) {
    lower[a] = c - near[2 * a], upper[a] = near[2 * a + 1] - c;
    s[a] = 0.25 * mesh::limited_slope(lower[a], upper[a], central);
  }
  double t[4] = {mesh::sum3(s[0], s[1], s[2]), mesh::sum3(-s[0], s[1], s[2]), mesh::sum3(s[0], -s[1], s[2]),
                 mesh::sum3(s[0], s[1], -s[2])};
  if (central) {  // scaled back into the range of the cell and its neighbours
    double above = 0.0, below = 0.0, most = 0.0;
    for (int a = 0; a < 3; ++a) above = mesh::larger(above, -lower[a]), below = mesh::larger(below, lower[a]);
    for (int a = 0; a < 3; ++a) above = mesh::larger(above, upper[a]), below = mesh::larger(below, -upper[a]);
    for (int i = 0; i < 4; ++i) most = mesh::larger(most, mesh::larger(t[i], -t[i]));
    const double allowed = mesh::smaller(above, below);
    const double scale = most > allowed ? allowed / most : 1.0;
    for (int i = 0; i < 4; ++i) t[i] = t[i] * scale;
  }
  child[0] = c - t[0], child[1] = c - t[1], child[2] = c - t[2], child[3] = c + t[3];
  child[4] = c - t[3], child[5] = c + t[2], child[6] = c + t[1], child[7] = c + t[0];
}

/// A cell and its six neighbours: x lower, x upper, ...
struct cell_and_near {
  double centre, near[6];
};
PLX_INLINE cell_and_near cell_and_near_at(const double* c, std::ptrdiff_t row, std::ptrdiff_t plane) {
  return {*c, {c[-1], c[1], c[-row], c[row], c[-plane], c[plane]}};
}

/// The children of the fields of one group: put(field, children). Shapes: at(field): of the coarse cell.
template <class At, class Put>
PLX_INLINE void children_of_group(int group, const mesh::field_table& fields, bool central, At at, Put put) {
  double child[8];
  const int members = fields.group_size(group), first = fields.member(group, 0);
  if (members == 1) {
    const cell_and_near c = at(first);
    children_of(c.centre, c.near, central, child);
    return put(first, child);
  }
  const auto differences = [&](int m) {
    const cell_and_near c = at(fields.member(group, m));
    mesh::cell_differences d;
    for (int a = 0; a < 3; ++a) d.lower[a] = c.centre - c.near[2 * a], d.upper[a] = c.near[2 * a + 1] - c.centre;
    return d;
  };
  const mesh::shared_limit limit = mesh::limit_together(members, central, differences);
  for (int m = 0; m < members; ++m) {
    const int v = fields.member(group, m);
    limit.offsets(differences(m)).add_to(at(v).centre, child);
    put(v, child);
  }
}

/// Limits a family in place. Shapes: as mesh::keep_internal_energy(), in the order of parameters.hpp.
PLX_INLINE void limit_children(int n_var, const double* coarse, std::ptrdiff_t coarse_variable,
                               double* const (&child)[8], std::ptrdiff_t fine_variable) {
  mesh::keep_internal_energy({i_density, i_momentum, i_energy}, n_var, coarse, coarse_variable, child, fine_variable);
}

/// The same for a family of which only children that are not null are stored: the others are computed again. `row`,
/// `plane`: steps to the neighbours of the coarse cell.
PLX_INLINE void limit_stored_children(const mesh::field_table& fields, const double* coarse, std::ptrdiff_t row,
                                      std::ptrdiff_t plane, std::ptrdiff_t coarse_variable, bool central,
                                      double* const (&child)[8], std::ptrdiff_t fine_variable) {
  constexpr int gas = 5;
  static_assert(i_energy < gas && i_momentum + 2 < gas && i_density < gas);
  double all[gas][8];
  for (int group = 0; group < gas; ++group)  // the groups of these fields: those are the first, and in different ones
    children_of_group(
        group, fields, central, [&](int v) { return cell_and_near_at(coarse + v * coarse_variable, row, plane); },
        [&](int v, const double(&of)[8]) {
          for (int d = 0; v < gas && d < 8; ++d) all[v][d] = of[d];
        });
  double* family[8];
  for (int d = 0; d < 8; ++d) family[d] = &all[0][d];
  const mesh::gas_places places{i_density, i_momentum, i_energy};
  const double factor = mesh::family_factor(places, coarse, coarse_variable, family, 8);
  mesh::draw_family(factor, fields.count, coarse, coarse_variable, child, fine_variable);
}

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
