// The cells of a block and those across its faces, read in place: from the block's memory, a neighbour's, or a slab of
// ghost cells that was computed from other levels.
//
// Thread safety: reads only. Cost: an address.
// Example: star/device/bodies/stage_body.hpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/data/step_data.hpp"
#include "star/hydro/kernel/kernel_simd.hpp"
#include "star/hydro/kernel/kernel_update.hpp"

namespace plx::star::PLX_HYDRO_ISA {

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

/// Does a reflecting boundary across `axis` negate variable v, a component of the spin? That is an axial vector.
/// `spin`: spin_variable().
PLX_INLINE bool turns_spin(int v, int spin, int axis) { return spin >= 0 && v >= spin && v != spin + axis; }

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

// ---- Floors and the dual-energy rules for cells in the memory of a block, and the report of a thread on its cells.
//
// Cost: about 250 operations per cell.

/// Settles cell `index` of a block in place, as check_cells() does. Shapes: u: its variables, `variable` doubles apart.
template <class Eos, class Centre>
PLX_INLINE void settle_stored(const hydro_parameters& p, double* u, std::ptrdiff_t variable, int index, Centre centre,
                              tally& sums) {
  double finite = 0.0;
  for (int v = 0; v < variable_count(p); ++v) finite = finite + u[v * variable] * 0.0;
  settle<Eos>(p, u, variable, finite, 0.0, index, every_lane, centre, sums);
}

/// Adds the results of a thread's cells to the block's report. `part`: of device::bad_key().
PLX_INLINE void report_cells(device::block_report& report, bool last, int stage, int part, const tally& sums) {
  if (last) raise_together(&report.speed_bits, sums.signal_speed);
  if (sums.density_floors != 0) add_to(&report.density_floors, static_cast<std::uint64_t>(sums.density_floors));
  if (sums.pressure_floors != 0) add_to(&report.pressure_floors, static_cast<std::uint64_t>(sums.pressure_floors));
  if (sums.first_bad >= 0) lower_to(&report.bad, device::bad_key(stage, part, sums.first_bad));
}

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
