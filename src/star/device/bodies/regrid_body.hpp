// Regridding as bodies: refinement criteria, the values of new blocks, and boxes of cells in messages.
//
// Thread safety: as bodies; new blocks share no memory with old ones. Cost: criteria, some 400 operations per cell,
// seven cells read; new blocks, some 100 operations per cell and variable; messages, a read and a write per value.
// Example: star/runners/test/device_course_test.cpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/bodies/cells.hpp"
#include "star/device/data/spin_rule.hpp"
#include "star/device/data/step_data.hpp"
#include "star/hydro/eos.hpp"

namespace plx::star::PLX_HYDRO_ISA {

namespace {

// ---- the criteria of star/refine/refinement.cpp: a group checks the cells of one block. It computes the same numbers
// to the last bit, and so makes the same decisions. Phase 0 clears the group's words, phase 1 marks cells, phase 2
// replaces the block's words if they differ.

template <class Eos>
struct marks_body {
  using arguments = device::marks_arguments;
  static constexpr int threads = 128, phases = 3, groups_per_unit = 4;
  static constexpr int n_looked_at = 5, i_sound = 5;
  static std::size_t shared_bytes(const arguments&) { return 2 * sizeof(std::uint32_t); }
  static int groups(const arguments& a) { return a.n_blocks; }

  /// Density, velocities, positive pressure (star/hydro/eos.hpp), sound speed.
  struct values {
    double q[n_looked_at + 1];
  };

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double* shared) {
    auto* words = reinterpret_cast<std::uint32_t*>(shared);
    if constexpr (phase == 0) {
      if (thread == 0) words[0] = words[1] = 0;
    } else if constexpr (phase == 1) {
      mark(a, group, thread, words);
    } else if (thread == 0) {
      std::uint32_t* there = a.marks + std::ptrdiff_t{2} * group;
      if (there[0] == words[0] && there[1] == words[1]) return;
      there[0] = words[0], there[1] = words[1];
      raise_to(a.changed, a.turn);
    }
  }

  PLX_INLINE static void mark(const arguments& a, int group, int thread, std::uint32_t* words) {
    const device::block_item& block = a.blocks[group];
    const int n = a.n;
    const double marked_above = limit(a, device::dense, block.level);
    const double before_above = limit(a, device::dense_before, block.level);
    const double kept_above = limit(a, device::dense_kept, block.level);
    const double marked_below = limit(a, device::jeans, block.level);
    const double before_below = limit(a, device::jeans_before, block.level);
    const double kept_below = limit(a, device::jeans_kept, block.level);
    const int axes = (a.gradient_of | a.curvature_of) != 0 ? 3 : 0;
    std::uint32_t all = 0, before = 0;
    for (int e = thread; e < n * n * n; e += threads) {
      const int x[3] = {e % n, e / n % n, e / (n * n)};
      double gradient = 0.0, curvature = 0.0;
      const values at = values_at(a, block, x[0], x[1], x[2], -1);
      PLX_NO_UNROLL
      for (int axis = 0; axis < axes; ++axis) {
        const int dx = axis == 0, dy = axis == 1, dz = axis == 2;
        const values lower = values_at(a, block, x[0] - dx, x[1] - dy, x[2] - dz, axis);
        const values upper = values_at(a, block, x[0] + dx, x[1] + dy, x[2] + dz, axis);
        PLX_UNROLL
        for (int v = 0; v < n_looked_at; ++v) {
          const int scale = v >= 1 && v <= 3 ? i_sound : v;
          if ((a.gradient_of >> v & 1) != 0)
            gradient = mesh::larger(gradient, mesh::larger(ratio(at.q[v], lower.q[v], at.q[scale], lower.q[scale]),
                                                           ratio(at.q[v], upper.q[v], at.q[scale], upper.q[scale])));
          if ((a.curvature_of >> v & 1) != 0)
            curvature = mesh::larger(curvature, second(lower.q[v], at.q[v], upper.q[v]));
        }
      }
      const double density = at.q[0], sound2 = at.q[i_sound] * at.q[i_sound];
      if (gradient > a.gradient_refine || curvature > a.curvature_refine || density > marked_above ||
          sound2 < marked_below * density || in_species_range(a, block, x, 1.0))
        all |= reached(a, x);
      if (density > before_above || sound2 < before_below * density) before |= reached(a, x);
      const bool quiet = (gradient < a.gradient_coarsen || a.gradient_of == 0) &&
                         (curvature < a.curvature_coarsen || a.curvature_of == 0) && !(density > kept_above) &&
                         !(sound2 < kept_below * density) && !in_species_range(a, block, x, device::species_kept);
      if (!quiet) all |= device::mark_busy;
    }
    if (all != 0) set_bits(&words[0], all);
    if (before != 0) set_bits(&words[1], before);
  }

  PLX_INLINE static double limit(const arguments& a, device::level_limit which, int level) {
    return a.limits[which * a.n_levels + level];
  }

  /// `axis`: that along which the cell may be outside.
  PLX_INLINE static values values_at(const arguments& a, const device::block_item& block, int i, int j, int k,
                                     int axis) {
    const cell_values from = cell_at(a, block, variable_count(a.hydro), i, j, k);
    const std::uint32_t wanted = a.gradient_of | a.curvature_of;
    values w{};
    const double density = from.first[0], inverse = 1.0 / density;
    w.q[0] = density;
    if (wanted < 2 && !a.of_sound) return w;  // density alone
    double m[3];
    PLX_UNROLL
    for (int c = 0; c < 3; ++c) {
      m[c] = from.first[(i_momentum + c) * from.variable];
      if (c == axis) m[c] = turned(m[c], from.normal);
      w.q[1 + c] = m[c] * inverse;
    }
    const double total = from.first[i_energy * from.variable];
    const Eos eos(a.hydro.eos);
    const typename Eos::cold cold = eos.at(density);
    double heat = eos.thermal_energy(total - 0.5 * mesh::sum3(m[0] * m[0], m[1] * m[1], m[2] * m[2]) * inverse, cold);
    if (!(heat > a.hydro.dual_energy_switch * total))
      heat = eos.thermal_energy_of_tracer(from.first[i_tracer * from.variable], cold);
    const double pressure = eos.pressure(heat, cold);
    w.q[4] = pressure;
    if ((wanted & 0b1110) != 0 || a.of_sound) w.q[i_sound] = sound_speed(eos, density, pressure, cold);
    return w;
  }

  /// As block_marker::in_species_range().
  PLX_INLINE static bool in_species_range(const arguments& a, const device::block_item& block, const int (&x)[3],
                                          double share) {
    for (int r = 0; r < a.n_ranges; ++r) {
      const double* range = a.ranges + std::ptrdiff_t{3} * r;
      const auto fraction = [&](int i, int j, int k) {
        const cell_values from = cell_at(a, block, variable_count(a.hydro), i, j, k);
        return from.first[(i_species + static_cast<int>(range[0])) * from.variable] * (1.0 / from.first[0]);
      };
      double least = fraction(x[0], x[1], x[2]), most = least;
      PLX_NO_UNROLL
      for (int side = 0; side < 6; ++side) {
        const int axis = side / 2, step = side % 2 == 0 ? -1 : 1;
        const double other =
            fraction(x[0] + (axis == 0 ? step : 0), x[1] + (axis == 1 ? step : 0), x[2] + (axis == 2 ? step : 0));
        least = mesh::smaller(least, other), most = mesh::larger(most, other);
      }
      if (most >= share * range[1] && (range[2] >= 1.0 || least <= 1.0 - share * (1.0 - range[2]))) return true;
    }
    return false;
  }

  PLX_INLINE static double ratio(double at, double other, double scale_at, double scale_other) {
    const double size = mesh::larger(vabs(scale_at), vabs(scale_other));
    return vabs(other - at) / mesh::larger(size, 1e-300);
  }
  PLX_INLINE static double second(double lower, double at, double upper) {
    const double up = upper - at, down = at - lower;
    const double small = 0.01 * ((vabs(upper) + vabs(lower)) + 2 * vabs(at));
    const double scale = (vabs(up) + vabs(down)) + small;
    return vabs(up - down) / mesh::larger(scale, 1e-300);
  }

  PLX_INLINE static std::uint32_t reached(const arguments& a, const int (&x)[3]) {
    std::uint32_t bits = 0;
    int from[3], to[3];
    for (int d = 0; d < 3; ++d) from[d] = x[d] < a.buffer ? -1 : 0, to[d] = x[d] >= a.n - a.buffer ? 1 : 0;
    for (int dz = from[2]; dz <= to[2]; ++dz)
      for (int dy = from[1]; dy <= to[1]; ++dy)
        for (int dx = from[0]; dx <= to[0]; ++dx) bits |= 1u << ((dz + 1) * 9 + (dy + 1) * 3 + dx + 1);
    return bits;
  }
};

// ---- values of new blocks: prolongation into the eight children of a block, means into a merged block, and floors and
// speeds of both, as mesh/tree/regrid.cpp and check_cells() compute them

/// A group computes one new block: first the children, then the merged ones. Phase 1 limits children to positive
/// internal energies. Phase 2: with spin, the change that new places of the momenta require.
struct move_body {
  using arguments = device::move_arguments;
  static constexpr int threads = 128, phases = 3, groups_per_unit = 4;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_children + a.n_merged; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    if constexpr (phase == 0) {
      if (group < a.n_children)
        refine(a, a.children[group], thread);
      else
        merge(a, a.merged[group - a.n_children], thread);
    } else if constexpr (phase == 1) {
      if (group < a.n_children) limit(a, a.children[group], thread);
    } else if (a.spin >= 0) {
      if (group < a.n_children)
        refine_spin(a, a.children[group], thread);
      else
        merge_spin(a, a.merged[group - a.n_children], thread);
    }
  }

  PLX_INLINE static double value_at(const arguments& a, const device::block_item& block, int v, int i, int j, int k,
                                    int axis) {
    const cell_values c = cell_at(a, block, a.fields.count, i, j, k);
    const double x = c.first[v * c.variable];
    if (a.fields.is_normal_to(v, axis)) return turned(x, c.normal);
    return c.normal == cell_values::negated && a.fields.changes_sign_at(v, axis) ? -x : x;
  }

  PLX_INLINE static void refine(const arguments& a, const device::child_item& item, int thread) {
    const device::block_item& parent = a.blocks[item.parent];
    const int n = a.n, half = n / 2, cells = half * half * half;
    const int first[3] = {item.which % 2 * half, item.which / 2 % 2 * half, item.which / 4 * half};
    const std::ptrdiff_t volume = static_cast<std::ptrdiff_t>(n) * n * n;
    for (int e = thread; e < cells * a.fields.groups; e += threads) {
      const int c = e % cells;
      const int x[3] = {c % half, c / half % half, c / (half * half)};
      const int i = first[0] + x[0], j = first[1] + x[1], k = first[2] + x[2];
      double* to = a.source + item.to + (static_cast<std::ptrdiff_t>(2 * x[2]) * n + 2 * x[1]) * n + 2 * x[0];
      children_of_group(
          e / cells, a.fields, a.central,
          [&](int v) {
            return cell_and_near{value_at(a, parent, v, i, j, k, 0),
                                 {value_at(a, parent, v, i - 1, j, k, 0), value_at(a, parent, v, i + 1, j, k, 0),
                                  value_at(a, parent, v, i, j - 1, k, 1), value_at(a, parent, v, i, j + 1, k, 1),
                                  value_at(a, parent, v, i, j, k - 1, 2), value_at(a, parent, v, i, j, k + 1, 2)}};
          },
          [&](int v, const double(&child)[8]) {
            for (int d = 0; d < 8; ++d) to[v * volume + ((d >> 2) * n + (d >> 1 & 1)) * n + (d & 1)] = child[d];
          });
    }
  }

  PLX_INLINE static void limit(const arguments& a, const device::child_item& item, int thread) {
    const int n = a.n, half = n / 2, cells = half * half * half;
    const int first[3] = {item.which % 2 * half, item.which / 2 % 2 * half, item.which / 4 * half};
    const std::ptrdiff_t row = n, plane = row * n, volume = plane * n;
    const double* parent = a.source + a.blocks[item.parent].values;
    for (int e = thread; e < cells; e += threads) {
      const int x[3] = {e % half, e / half % half, e / (half * half)};
      const double* from = parent + first[0] + x[0] + (first[1] + x[1]) * row + (first[2] + x[2]) * plane;
      double* to = a.source + item.to + 2 * (x[0] + x[1] * row + x[2] * plane);
      double* child[8];
      for (int d = 0; d < 8; ++d) child[d] = to + (d & 1) + (d >> 1 & 1) * row + (d >> 2) * plane;
      limit_children(a.fields.count, from, volume, child, volume);
    }
  }

  PLX_INLINE static void refine_spin(const arguments& a, const device::child_item& item, int thread) {
    const int n = a.n, half = n / 2;
    for (int e = thread; e < half * half * half; e += threads) {
      const int i = e % half, j = e / half % half, k = e / (half * half);
      device::change_family(a.source + item.to + 2 * ((k * n + j) * n + i), n, a.spin, item.dx);
    }
  }

  PLX_INLINE static void merge_spin(const arguments& a, const device::merged_item& item, int thread) {
    const int n = a.n, half = n / 2, cells = n * n * n;
    for (int e = thread; e < cells; e += threads) {
      const int x = e % n, y = e / n % n, z = e / (n * n);
      const int child = (x >= half ? 1 : 0) | (y >= half ? 2 : 0) | (z >= half ? 4 : 0);
      const device::cell_family family{a.source + item.from[child] + 2 * (((z % half) * n + y % half) * n + x % half),
                                       n, n * n, cells};
      for (int axis = 0; axis < 3; ++axis)
        a.source[item.to + (a.spin + axis) * static_cast<std::ptrdiff_t>(cells) + e] =
            family.merged(a.spin, axis, item.dx);
    }
  }

  PLX_INLINE static void merge(const arguments& a, const device::merged_item& item, int thread) {
    const int n = a.n, half = n / 2, cells = n * n * n;
    const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(n) * n;
    for (int e = thread; e < cells * a.fields.count; e += threads) {
      const int v = e / cells, c = e % cells;
      const int x[3] = {c % n, c / n % n, c / (n * n)};
      const int child = (x[0] >= half ? 1 : 0) | (x[1] >= half ? 2 : 0) | (x[2] >= half ? 4 : 0);
      const double* from = a.source + item.from[child] + static_cast<std::ptrdiff_t>(v) * cells +
                           2 * (x[2] % half) * plane + static_cast<std::ptrdiff_t>(2 * (x[1] % half)) * n +
                           2 * (x[0] % half);
      a.source[item.to + e] = mean_of_eight(from, n, plane);
    }
  }
};

template <class Eos>
struct check_body {
  using arguments = device::check_arguments;
  static constexpr int threads = 128, phases = 1, groups_per_unit = 4;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_items; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    if (a.control != nullptr && a.control->stopped != 0) return;
    const int cells = a.n * a.n * a.n;
    const std::int64_t first = a.items != nullptr ? a.items[group] : a.blocks[group].values;
    const block_place place = a.items == nullptr    ? a.blocks[group].place
                              : a.places != nullptr ? a.places[group]
                                                    : block_place{};
    tally sums;
    for (int cell = thread; cell < cells; cell += threads)
      settle_stored<Eos>(
          a.hydro, a.source + first + cell, cells, cell,
          [&](int along) {
            return place.centre(along, along == 0 ? cell % a.n : along == 1 ? cell / a.n % a.n : cell / (a.n * a.n));
          },
          [&] { return target_of_group(a.added, group, a.hydro, place.dx, nullptr); }, sums);
    report_cells(a.reports[group], a.last, a.stage, device::part_of_check, sums);
  }
};

// ---- copies boxes of cells into or out of a message, like mesh::pack() and mesh::unpack(). A group copies one box.

struct copy_body {
  using arguments = device::copy_arguments;
  static constexpr int threads = 128, phases = 1, groups_per_unit = 8;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_items; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    const device::copy_item item = a.items[group];
    const int x = item.cells[0], xy = x * item.cells[1], cells = xy * item.cells[2];
    const std::ptrdiff_t row = a.n, plane = row * a.n;
    for (int e = thread; e < cells * a.n_var; e += threads) {
      const int v = e / cells, c = e % cells;
      double* value = a.values + item.values + v * a.variable + c % x + c % xy / x * row + c / xy * plane;
      double* place = a.message + item.message + e;
      if (a.out)
        *place = *value;
      else
        *value = *place;
    }
  }
};

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
