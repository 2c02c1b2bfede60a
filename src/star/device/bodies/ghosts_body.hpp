// Ghost cells from finer and coarser blocks as a body: a group computes the slabs of one block. It does what
// mesh/between/gather.cpp and mesh/between/coarse_tile.cpp do, for ghost cells across faces.
//
// Phase 0: means of finer blocks into their slabs; the coarse tile is filled from the neighbouring blocks. Phases 1 to
// 6: the coarse tile outside the domain, face by face. Phase 7: prolongation from it into the slabs. Phase 8: limits to
// positive internal energies there.
//
// Thread safety: as bodies. Cost: some 100 operations per ghost cell and variable.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include "star/device/bodies/coarse_tile.hpp"
#include "star/device/bodies/ghost_cell.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

struct ghosts_body {
  using arguments = device::ghosts_arguments;
  static constexpr int threads = 256, phases = 9, groups_per_unit = 2;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_items; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    const device::level_item& item = a.items[group];
    if (a.control->stopped != 0) return;
    if constexpr (phase == 0) {
      for (int f = 0; f < 6; ++f)
        if ((item.finer >> f & 1) != 0) take_means(a, item, f, thread);
      for (int b = item.fills_begin; b < item.fills_end; ++b)
        fill_coarse(a, coarse_tile(a, item.coarse_tile), a.fills[b], thread, threads);
    } else if constexpr (phase < 7) {
      constexpr int f = phase - 1;
      if (item.coarser != 0 && (item.beyond >> f & 1) != 0)
        fill_beyond(a, coarse_tile(a, item.coarse_tile), a.n / 2, f, a.spin, thread, threads);
    } else if constexpr (phase == 7) {
      for (int f = 0; f < 6; ++f)
        if ((item.coarser >> f & 1) != 0) prolong(a, item, f, thread);
    } else {
      for (int f = 0; f < 6; ++f)
        if ((item.coarser >> f & 1) != 0) limit(a, item, f, thread);
    }
  }

  PLX_INLINE static double* slab(const arguments& a, const device::level_item& item, int face) {
    return a.slabs + a.blocks[item.position].face[face].origin;
  }
  /// Widths of a slab along the axes.
  struct widths {
    int x, y, z;
  };
  PLX_INLINE static widths slab_widths(int n, int axis) {
    return {axis == 0 ? ghost_depth : n, axis == 1 ? ghost_depth : n, axis == 2 ? ghost_depth : n};
  }

  PLX_INLINE static void take_means(const arguments& a, const device::level_item& item, int face, int thread) {
    const int n = a.n, axis = face / 2, half = n / 2;
    const bool upper = face % 2 != 0;
    const std::ptrdiff_t row = n, plane = static_cast<std::ptrdiff_t>(n) * n, volume = plane * n;
    const widths w = slab_widths(n, axis);
    const int cells = ghost_depth * n * n;
    double* to = slab(a, item, face);
    for (int e = thread; e < cells * a.n_var; e += threads) {
      const int v = e / cells, c = e % cells;
      int x[3] = {c % w.x, c / w.x % w.y, c / (w.x * w.y)};
      int child = 0, bit = 0;
      for (int d = 0; d < 3; ++d) {
        if (d == axis) {
          x[d] = 2 * x[d] + (upper ? 0 : n - 2 * ghost_depth);
        } else {
          if (x[d] >= half) child |= 1 << bit;
          x[d] = 2 * (x[d] - (x[d] >= half ? half : 0));
          ++bit;
        }
      }
      const double* from = a.source + item.fine[face][child] + v * volume + x[0] + x[1] * row + x[2] * plane;
      to[e] = mean_of_eight(from, row, plane);
    }
  }

  /// The coarse cells under a slab.
  static constexpr int layers = (ghost_depth + 1) / 2;
  struct coarse_cell {
    int x[3];
  };
  PLX_INLINE static coarse_cell coarse_cell_of(int n, int face, int c) {
    const int half = n / 2, axis = face / 2, s = c % half, t = c / half % half, layer = c / (half * half);
    const int out = face % 2 != 0 ? half + layer : -1 - layer;
    return {{axis == 0 ? out : s, axis == 1 ? out : axis == 0 ? s : t, axis == 2 ? out : t}};
  }
  /// Offset in the slab of child d of a coarse cell, or -1 if it is beyond.
  PLX_INLINE static std::ptrdiff_t in_slab(int n, int face, const coarse_cell& c, int d) {
    const int axis = face / 2;
    const widths w = slab_widths(n, axis);
    int f[3] = {2 * c.x[0] + (d & 1), 2 * c.x[1] + (d >> 1 & 1), 2 * c.x[2] + (d >> 2)};
    f[axis] += face % 2 != 0 ? -n : ghost_depth;  // the layer of the slab
    if (f[axis] < 0 || f[axis] >= ghost_depth) return -1;
    return (static_cast<std::ptrdiff_t>(f[2]) * w.y + f[1]) * w.x + f[0];
  }

  PLX_INLINE static void prolong(const arguments& a, const device::level_item& item, int face, int thread) {
    const tile_view tile = coarse_tile(a, item.coarse_tile);
    const std::ptrdiff_t step[3] = {1, tile.width, tile.plane};
    const std::ptrdiff_t slab_volume = static_cast<std::ptrdiff_t>(ghost_depth) * a.n * a.n;
    const int cells = layers * (a.n / 2) * (a.n / 2);
    double* to = slab(a, item, face);
    for (int e = thread; e < cells * groups_of_variables(a.n_var, a.n_species); e += threads) {
      const coarse_cell c = coarse_cell_of(a.n, face, e % cells);
      const double* at = tile.first + c.x[0] + c.x[1] * step[1] + c.x[2] * step[2];
      children_of_group(
          e / cells, a.n_species, a.central,
          [&](int v) { return cell_and_near_at(at + v * tile.volume, step[1], step[2]); },
          [&](int v, const double(&child)[8]) {
            for (int d = 0; d < 8; ++d) {
              const std::ptrdiff_t place = in_slab(a.n, face, c, d);
              if (place >= 0) to[v * slab_volume + place] = child[d];
            }
          });
    }
  }

  PLX_INLINE static void limit(const arguments& a, const device::level_item& item, int face, int thread) {
    const tile_view tile = coarse_tile(a, item.coarse_tile);
    const std::ptrdiff_t slab_volume = static_cast<std::ptrdiff_t>(ghost_depth) * a.n * a.n;
    const int cells = layers * (a.n / 2) * (a.n / 2);
    double* to = slab(a, item, face);
    for (int e = thread; e < cells; e += threads) {
      const coarse_cell c = coarse_cell_of(a.n, face, e);
      double* child[8];
      for (int d = 0; d < 8; ++d) {
        const std::ptrdiff_t place = in_slab(a.n, face, c, d);
        child[d] = place >= 0 ? to + place : nullptr;
      }
      const double* at = tile.first + c.x[0] + static_cast<std::ptrdiff_t>(c.x[1]) * tile.width + c.x[2] * tile.plane;
      limit_stored_children(a.n_var, a.n_species, at, tile.width, tile.plane, tile.volume, a.central, child,
                            slab_volume);
    }
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
