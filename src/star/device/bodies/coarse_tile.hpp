// A block with three layers of ghost cells, or the same at half the resolution (a coarse tile), filled by the threads
// of a group together. It computes what mesh/between/coarse_tile.cpp and mesh/between/sides.cpp compute. Arguments:
// with n, n_var, source, inflow, side and coarse_tiles, as device::ghosts_arguments.
//
// Thread safety: as bodies. Cost: a read and a write per value; 15 operations for a mean.
// Example: star/device/bodies/ghosts_body.hpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/bodies/ghost_cell.hpp"
#include "star/device/bodies/level_cell.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// A tile, addressed from its cell (0, 0, 0).
struct tile_view {
  double* first;
  int width;
  std::ptrdiff_t plane, volume;
};
PLX_INLINE tile_view tile_at(double* begin, int n) {
  const int width = n + 2 * ghost_depth;
  const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(width) * width;
  return {begin + ghost_depth * (1 + width + plane), width, plane, plane * width};
}
template <class Arguments>
PLX_INLINE tile_view coarse_tile(const Arguments& a, std::int64_t begin) {
  return tile_at(a.coarse_tiles + begin, a.n / 2);
}

/// Fills one box of a coarse tile.
template <class Arguments>
PLX_INLINE void fill_coarse(const Arguments& a, const tile_view& tile, const device::coarse_fill& f, int thread,
                            int threads) {
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

/// Fills the ghost cells outside a boundary of the domain, on the whole width of a tile of n cells. Called face by
/// face. `spin`: spin_variable().
template <class Arguments>
PLX_INLINE void fill_beyond(const Arguments& a, const tile_view& tile, int n, int face, int spin, int thread,
                            int threads) {
  const int axis = face / 2, w = tile.width;
  const bool upper = face % 2 != 0;
  const std::ptrdiff_t step[3] = {1, w, tile.plane};
  const std::ptrdiff_t sa = step[axis == 0 ? 1 : 0], sb = step[axis == 2 ? 1 : 2];
  const std::ptrdiff_t outward = upper ? step[axis] : -step[axis];
  const auto kind = static_cast<device::ghosts_from>(a.side[face]);
  double* start = tile.first + (upper ? n - 1 : 0) * step[axis] - ghost_depth * (sa + sb);
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
        if (normal || turns_spin(v, spin, axis)) value = -value;
      } else if (normal && kind == device::ghosts_from::outflow) {
        value = upper ? vabs(value) : -vabs(value);
      }
      edge[layer * outward] = value;
    }
  }
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
