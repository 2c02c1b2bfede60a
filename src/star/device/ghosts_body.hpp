// Ghosts from finer and coarser blocks as a body: a group makes the slabs of one block. What mesh/gather.cpp and
// mesh/coarse_tile.cpp do, of the ghosts across faces.
//
// Phase 0: means of finer blocks into their slabs; the coarse tile is filled from the blocks around. Phases 1 to 6: the
// coarse tile beyond the sides of the domain, face by face. Phase 7: prolongation from it into the slabs.
//
// Thread safety: as bodies. Cost: some 100 operations per ghost cell and variable.
// Example: star/device/device_gas_test.cpp
#pragma once

#include "star/device/body.hpp"
#include "star/device/ghost_cell.hpp"
#include "star/device/level_cell.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

struct ghosts_body {
  using arguments = device::ghosts_arguments;
  static constexpr int threads = 256, phases = 8, groups_per_unit = 2;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_items; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    const device::level_item& item = a.items[group];
    if (a.control->stopped != 0) return;
    if constexpr (phase == 0) {
      for (int f = 0; f < 6; ++f)
        if ((item.finer >> f & 1) != 0) take_means(a, item, f, thread);
      for (int b = item.fills_begin; b < item.fills_end; ++b) fill(a, item, a.fills[b], thread);
    } else if constexpr (phase < 7) {
      constexpr int f = phase - 1;
      if (item.coarser != 0 && (item.beyond >> f & 1) != 0) fill_side(a, item, f, thread);
    } else {
      for (int f = 0; f < 6; ++f)
        if ((item.coarser >> f & 1) != 0) prolong(a, item, f, thread);
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

  /// The coarse tile, its cell (0, 0, 0).
  struct tile_view {
    double* first;
    int width;
    std::ptrdiff_t plane, volume;
  };
  PLX_INLINE static tile_view coarse_tile(const arguments& a, const device::level_item& item) {
    const int width = a.n / 2 + 2 * ghost_depth;
    const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(width) * width;
    return {a.coarse_tiles + item.coarse_tile + ghost_depth * (1 + width + plane), width, plane, plane * width};
  }

  PLX_INLINE static void fill(const arguments& a, const device::level_item& item, const device::coarse_fill& f,
                              int thread) {
    const tile_view tile = coarse_tile(a, item);
    const int n = a.n, wx = f.hi[0] - f.lo[0], wy = f.hi[1] - f.lo[1], wz = f.hi[2] - f.lo[2], cells = wx * wy * wz;
    const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(n) * n, volume = plane * n;
    const int scale = f.mean != 0 ? 2 : 1;
    for (int e = thread; e < cells * a.n_var; e += threads) {
      const int v = e / cells, c = e % cells;
      const int i = f.lo[0] + c % wx, j = f.lo[1] + c / wx % wy, k = f.lo[2] + c / (wx * wy);
      const double* from = a.source + f.source + v * volume + (scale * i + f.shift[0]) + (scale * j + f.shift[1]) * n +
                           (scale * k + f.shift[2]) * plane;
      tile.first[v * tile.volume + k * tile.plane + static_cast<std::ptrdiff_t>(j) * tile.width + i] =
          f.mean != 0 ? mean_of_eight(from, n, plane) : *from;
    }
  }

  // As mesh/sides.cpp, on the whole width of the tile.
  PLX_INLINE static void fill_side(const arguments& a, const device::level_item& item, int face, int thread) {
    const tile_view tile = coarse_tile(a, item);
    const int half = a.n / 2, axis = face / 2, w = tile.width;
    const bool upper = face % 2 != 0;
    const std::ptrdiff_t step[3] = {1, w, tile.plane};
    const std::ptrdiff_t sa = step[axis == 0 ? 1 : 0], sb = step[axis == 2 ? 1 : 2];
    const std::ptrdiff_t outward = upper ? step[axis] : -step[axis];
    const auto kind = static_cast<device::ghosts_from>(a.side[face]);
    double* start = tile.first + (upper ? half - 1 : 0) * step[axis] - ghost_depth * (sa + sb);
    for (int e = thread; e < w * w * a.n_var; e += threads) {
      const int v = e / (w * w), c = e % (w * w);
      double* edge = start + v * tile.volume + c % w * sa + c / w * sb;
      const bool normal = v == i_momentum + axis;
      for (int layer = 1; layer <= ghost_depth; ++layer) {
        double value = edge[0];
        if (kind == device::ghosts_from::inflow) {
          value = a.inflow[face * a.n_var + v];
        } else if (kind == device::ghosts_from::reflecting) {
          value = edge[(1 - layer) * outward];
          if (normal) value = -value;
        } else if (normal) {
          value = upper ? vabs(value) : -vabs(value);
        }
        edge[layer * outward] = value;
      }
    }
  }

  PLX_INLINE static void prolong(const arguments& a, const device::level_item& item, int face, int thread) {
    const tile_view tile = coarse_tile(a, item);
    const int n = a.n, half = n / 2, axis = face / 2;
    const bool upper = face % 2 != 0;
    const widths w = slab_widths(n, axis);
    const std::ptrdiff_t step[3] = {1, tile.width, tile.plane};
    const std::ptrdiff_t slab_volume = static_cast<std::ptrdiff_t>(ghost_depth) * n * n;
    constexpr int layers = (ghost_depth + 1) / 2;
    const int cells = layers * half * half;
    double* to = slab(a, item, face);
    for (int e = thread; e < cells * a.n_var; e += threads) {
      const int v = e / cells, c = e % cells, s = c % half, t = c / half % half, layer = c / (half * half);
      const int out = upper ? half + layer : -1 - layer;
      const int x[3] = {axis == 0 ? out : s, axis == 1 ? out : axis == 0 ? s : t, axis == 2 ? out : t};
      const double* at = tile.first + v * tile.volume + x[0] + x[1] * step[1] + x[2] * step[2];
      const double near[6] = {at[-1], at[1], at[-step[1]], at[step[1]], at[-step[2]], at[step[2]]};
      double child[8];
      children_of(*at, near, a.central, child);
      for (int d = 0; d < 8; ++d) {
        int f[3] = {2 * x[0] + (d & 1), 2 * x[1] + (d >> 1 & 1), 2 * x[2] + (d >> 2)};
        f[axis] += upper ? -n : ghost_depth;  // the layer of the slab
        if (f[axis] < 0 || f[axis] >= ghost_depth) continue;
        to[v * slab_volume + (static_cast<std::ptrdiff_t>(f[2]) * w.y + f[1]) * w.x + f[0]] = child[d];
      }
    }
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
