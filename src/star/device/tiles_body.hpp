// Tiles for the scheme `full3d` as a body: a group gathers a block with all its ghost cells, including those at edges
// and corners, and converts it to primitive variables. It does what gather_tile() of mesh/gather.hpp does, and the
// conversion.
//
// Phase 0: copies cells of the same level and means of finer ones; fills the coarse tile. Phases 1 to 6: the coarse
// tile outside the domain, face by face. Phase 7: prolongation from it. Phases 8 to 13: the tile outside the domain.
// Phase 14: conversion in place; the total energy is stored after the primitive variables.
//
// Thread safety: as bodies. Cost: 13 doubles read or written per cell of the tile, (n + 6)^3, and some 40 operations.
// Example: star/device/device_gas_test.cpp
#pragma once

#include "star/device/coarse_tile.hpp"
#include "star/hydro/kernel_primitive.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

struct tiles_body {
  using arguments = device::tiles_arguments;
  static constexpr int threads = 512, phases = 15, groups_per_unit = 2;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_blocks; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    if (a.control->stopped != 0) return;
    const device::tile_item& item = a.items[group];
    const tile_view tile = tile_of(a, group);
    if constexpr (phase == 0) {
      copy_cells(a, item, tile, thread);
      for (int b = item.fills_begin; b < item.fills_end; ++b)
        fill_coarse(a, coarse_tile(a, item.coarse_tile), a.fills[b], thread, threads);
    } else if constexpr (phase < 7) {
      if (item.coarser != 0 && (item.beyond >> (phase - 1) & 1) != 0)
        fill_beyond(a, coarse_tile(a, item.coarse_tile), a.n / 2, phase - 1, thread, threads);
    } else if constexpr (phase == 7) {
      if (item.coarser != 0) prolong(a, item, tile, thread);
    } else if constexpr (phase < 14) {
      if ((item.beyond >> (phase - 8) & 1) != 0) fill_beyond(a, tile, a.n, phase - 8, thread, threads);
    } else {
      convert(a, tile, group, thread);
    }
  }

  PLX_INLINE static tile_view tile_of(const arguments& a, int group) {
    const tile_view first = tile_at(a.tiles, a.n);
    return {first.first + group * device::tile_variables * first.volume, first.width, first.plane, first.volume};
  }

  /// -1, 0 or 1: below the block, in it, above.
  PLX_INLINE static int part_of(int x, int n) { return x < 0 ? -1 : x < n ? 0 : 1; }
  PLX_INLINE static int direction_of(int x, int y, int z, int n) {
    return 13 + part_of(x, n) + 3 * part_of(y, n) + 9 * part_of(z, n);
  }

  PLX_INLINE static void copy_cells(const arguments& a, const device::tile_item& item, const tile_view& tile,
                                    int thread) {
    const int n = a.n, w = tile.width;
    const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(n) * n, volume = plane * n;
    for (int e = thread; e < w * w * w; e += threads) {
      const int x[3] = {e % w - ghost_depth, e / w % w - ghost_depth, e / (w * w) - ghost_depth};
      const int d = direction_of(x[0], x[1], x[2], n);
      double* to = tile.first + x[0] + static_cast<std::ptrdiff_t>(x[1]) * w + x[2] * tile.plane;
      if ((item.same >> d & 1) != 0) {
        const double* from = a.source + item.from[d][0] + (x[0] - part_of(x[0], n) * n) +
                             (x[1] - part_of(x[1], n) * n) * n + (x[2] - part_of(x[2], n) * n) * plane;
        for (int v = 0; v < a.n_var; ++v) to[v * tile.volume] = from[v * volume];
      } else if ((item.finer >> d & 1) != 0) {
        int child = 0, bit = 0, fine[3];
        for (int axis = 0; axis < 3; ++axis) {
          const int part = part_of(x[axis], n), half = part == 0 && x[axis] >= n / 2 ? 1 : 0;
          fine[axis] = part < 0 ? 2 * x[axis] + n : part > 0 ? 2 * (x[axis] - n) : 2 * x[axis] - half * n;
          if (part == 0) child |= half << bit++;
        }
        const double* from = a.source + item.from[d][child] + fine[0] + fine[1] * n + fine[2] * plane;
        for (int v = 0; v < a.n_var; ++v) to[v * tile.volume] = mean_of_eight(from + v * volume, n, plane);
      }
    }
  }

  /// For each coarse cell that contains ghost cells, computes those of its children.
  PLX_INLINE static void prolong(const arguments& a, const device::tile_item& item, const tile_view& tile, int thread) {
    const tile_view coarse = coarse_tile(a, item.coarse_tile);
    const int n = a.n, first = -(ghost_depth + 1) / 2, width = n / 2 - 2 * first, cells = width * width * width;
    const std::ptrdiff_t row = coarse.width;
    for (int e = thread; e < cells * a.n_var; e += threads) {
      const int v = e / cells, c = e % cells;
      const int x[3] = {first + c % width, first + c / width % width, first + c / (width * width)};
      if ((item.coarser >> direction_of(x[0], x[1], x[2], n / 2) & 1) == 0) continue;
      const double* at = coarse.first + v * coarse.volume + x[0] + x[1] * row + x[2] * coarse.plane;
      const double near[6] = {at[-1], at[1], at[-row], at[row], at[-coarse.plane], at[coarse.plane]};
      double child[8];
      children_of(*at, near, a.central, child);
      for (int d = 0; d < 8; ++d) {
        const int f[3] = {2 * x[0] + (d & 1), 2 * x[1] + (d >> 1 & 1), 2 * x[2] + (d >> 2)};
        bool is_in = true;
        for (int axis = 0; axis < 3; ++axis) is_in = is_in && f[axis] >= -ghost_depth && f[axis] < n + ghost_depth;
        if (is_in)
          tile.first[v * tile.volume + f[0] + static_cast<std::ptrdiff_t>(f[1]) * tile.width + f[2] * tile.plane] =
              child[d];
      }
    }
  }

  PLX_INLINE static void convert(const arguments& a, const tile_view& tile, int group, int thread) {
    const int w = tile.width;
    double* first = tile.first - ghost_depth * (1 + w + tile.plane);
    std::uint64_t floored = 0;
    for (int e = thread; e < w * w * w; e += threads) {
      double u[i_species];
      PLX_UNROLL
      for (int v = 0; v < i_species; ++v) u[v] = first[v * tile.volume + e];
      first[device::tile_energy * tile.volume + e] = u[i_energy];
      floored += to_primitive(a.hydro, i_species, u, 1, first + e, tile.volume) ? 1 : 0;
    }
    if (floored != 0) add_to(&a.reports[group].input_floors, floored);
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
