// Values of new blocks as bodies: prolongation into the eight children of a block, means into a merged block, and
// floors and speeds of both. It computes what mesh/tree/regrid.cpp and check_cells() compute.
//
// Thread safety: as bodies; new blocks share no memory with old ones. Cost: some 100 operations per cell and variable.
// Example: star/runners/test/device_course_test.cpp
#pragma once

#include "star/device/bodies/block_cell.hpp"
#include "star/device/bodies/body.hpp"
#include "star/device/bodies/level_cell.hpp"
#include "star/device/data/spin_rule.hpp"
#include "star/device/data/step_data.hpp"

namespace plx::star::PLX_HYDRO_ISA {

namespace {

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
    const cell_values c = cell_at(a, block, a.n_var, i, j, k);
    const double x = c.first[v * c.variable];
    if (v == i_momentum + axis) return turned(x, c.normal);
    return c.normal == cell_values::negated && turns_spin(v, a.spin, axis) ? -x : x;
  }

  PLX_INLINE static void refine(const arguments& a, const device::child_item& item, int thread) {
    const device::block_item& parent = a.blocks[item.parent];
    const int n = a.n, half = n / 2, cells = half * half * half;
    const int first[3] = {item.which % 2 * half, item.which / 2 % 2 * half, item.which / 4 * half};
    const std::ptrdiff_t volume = static_cast<std::ptrdiff_t>(n) * n * n;
    for (int e = thread; e < cells * groups_of_variables(a.n_var, a.n_species); e += threads) {
      const int c = e % cells;
      const int x[3] = {c % half, c / half % half, c / (half * half)};
      const int i = first[0] + x[0], j = first[1] + x[1], k = first[2] + x[2];
      double* to = a.source + item.to + (static_cast<std::ptrdiff_t>(2 * x[2]) * n + 2 * x[1]) * n + 2 * x[0];
      children_of_group(
          e / cells, a.n_species, a.central,
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
      limit_children(a.n_var, from, volume, child, volume);
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
    for (int e = thread; e < cells * a.n_var; e += threads) {
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
          [&](int along) { return place.centre(along, along == 0 ? cell % a.n : cell / a.n % a.n); }, sums);
    report_cells(a.reports[group], a.last, a.stage, device::part_of_check, sums);
  }
};

// ---- Copies boxes of cells into or out of a message, as a body, like mesh::pack() and mesh::unpack(). A group copies
// one box.
//
// Cost: a read and a write per value.

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
