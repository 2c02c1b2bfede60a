// Blocks with their ghost cells, as bodies: ghosts_body computes those from finer and coarser blocks across faces,
// tiles_body whole tiles of primitive variables.
//
// Thread safety: as bodies. Cost: some 100 operations per ghost cell and variable from other levels; a tile 13 doubles
// read or written per cell, (n + 6)^3, and some 40 operations, two more per species.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/bodies/cells.hpp"
#include "star/hydro/kernel/kernel_spin.hpp"
#include "star/hydro/kernel/kernel_update.hpp"

namespace plx::star::PLX_HYDRO_ISA {

// ---- A block with three layers of ghost cells, or the same at half the resolution (a coarse tile), filled by the
// threads of a group together. It computes what mesh/between/gather.cpp computes. Arguments: with n, fields, source,
// inflow, side and coarse_tiles, as device::ghosts_arguments.
//
// Cost: a read and a write per value; 15 operations for a mean.

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
  for (int e = thread; e < cells * a.fields.count; e += threads) {
    const int v = e / cells, c = e % cells;
    const int i = f.lo[0] + c % wx, j = f.lo[1] + c / wx % wy, k = f.lo[2] + c / (wx * wy);
    const double* from = a.source + f.source + v * volume + (scale * i + f.shift[0]) + (scale * j + f.shift[1]) * n +
                         (scale * k + f.shift[2]) * plane;
    tile.first[v * tile.volume + k * tile.plane + static_cast<std::ptrdiff_t>(j) * tile.width + i] =
        f.mean != 0 ? mean_of_eight(from, n, plane) : *from;
  }
}

/// Fills the ghost cells outside a boundary of the domain, on the whole width of a tile of n cells. Called face by
/// face.
template <class Arguments>
PLX_INLINE void fill_beyond(const Arguments& a, const tile_view& tile, int n, int face, int thread, int threads) {
  const int axis = face / 2, w = tile.width;
  const bool upper = face % 2 != 0;
  const std::ptrdiff_t step[3] = {1, w, tile.plane};
  const std::ptrdiff_t sa = step[axis == 0 ? 1 : 0], sb = step[axis == 2 ? 1 : 2];
  const std::ptrdiff_t outward = upper ? step[axis] : -step[axis];
  const auto kind = static_cast<device::ghosts_from>(a.side[face]);
  double* start = tile.first + (upper ? n - 1 : 0) * step[axis] - ghost_depth * (sa + sb);
  for (int e = thread; e < w * w * a.fields.count; e += threads) {
    const int v = e / (w * w), c = e % (w * w);
    double* edge = start + v * tile.volume + c % w * sa + c / w * sb;
    const bool normal = a.fields.is_normal_to(v, axis);
    for (int layer = 1; layer <= ghost_depth; ++layer) {
      double value = edge[0];
      if (kind == device::ghosts_from::inflow) {
        value = a.inflow[face * a.fields.count + v];
      } else if (kind == device::ghosts_from::reflecting) {
        value = edge[(1 - layer) * outward];
        if (a.fields.changes_sign_at(v, axis)) value = -value;
      } else if (normal && kind == device::ghosts_from::outflow) {
        value = upper ? vabs(value) : -vabs(value);
      }
      edge[layer * outward] = value;
    }
  }
}

// ---- Ghost cells from finer and coarser blocks as a body: a group computes the slabs of one block. It does what
// mesh/between/gather.cpp does, for ghost cells across faces.
//
// Phase 0: means of finer blocks into their slabs; the coarse tile is filled from the neighbouring blocks. Phases 1 to
// 6: the coarse tile outside the domain, face by face. Phase 7: prolongation from it into the slabs. Phase 8: limits to
// positive internal energies there.
//
// Cost: some 100 operations per ghost cell and variable.

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
        fill_beyond(a, coarse_tile(a, item.coarse_tile), a.n / 2, f, thread, threads);
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
    for (int e = thread; e < cells * a.fields.count; e += threads) {
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
    for (int e = thread; e < cells * a.fields.groups; e += threads) {
      const coarse_cell c = coarse_cell_of(a.n, face, e % cells);
      const double* at = tile.first + c.x[0] + c.x[1] * step[1] + c.x[2] * step[2];
      children_of_group(
          e / cells, a.fields, a.central,
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
      limit_stored_children(a.fields, at, tile.width, tile.plane, tile.volume, a.central, child, slab_volume);
    }
  }
};

// ---- Tiles as a body: a group gathers a block with the ghost cells across its faces, or with all of them, including
// those at edges and corners (tile_reach_of() of step_data.hpp), and converts it to primitive variables. It does what
// gather_tile() of mesh/between/gather.hpp does, and the conversion.
//
// Phase 0: copies cells of the same level and means of finer ones; fills the coarse tile. Phases 1 to 6: the coarse
// tile outside the domain, face by face. Phase 7: prolongation from it. Phase 8: limits to positive internal energies
// there. Phases 9 to 14: the tile outside the domain. Phase 15: conversion in place; the total energy is stored after
// the primitive variables. Phase 16: with spin, the data of the cells of the block and beside its faces.
//
// Cost: 13 doubles read or written per cell of the tile, (n + 6)^3, and some 40 operations; two more per species.

template <class Eos>
struct tiles_body {
  using arguments = device::tiles_arguments;
  static constexpr int threads = 512, phases = 17, groups_per_unit = 2;
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
    } else if constexpr (phase == 8) {
      if (item.coarser != 0) limit(a, item, tile, thread);
    } else if constexpr (phase < 15) {
      if ((item.beyond >> (phase - 9) & 1) != 0) {
        fill_beyond(a, tile, a.n, phase - 9, thread, threads);
        if (a.given != nullptr && a.side[phase - 9] == static_cast<std::int32_t>(device::ghosts_from::given))
          fill_given(a, group, tile, phase - 9, thread);
      }
    } else if constexpr (phase == 15) {
      convert(a, tile, group, thread);
    } else {
      if (a.hydro.spin) find_spin(a, tile, group, thread);
    }
  }

  PLX_INLINE static tile_view tile_of(const arguments& a, int group) {
    const tile_view first = tile_at(a.tiles, a.n);
    return {first.first + group * device::tile_variables(a.hydro) * first.volume, first.width, first.plane,
            first.volume};
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
        for (int v = 0; v < a.fields.count; ++v) to[v * tile.volume] = from[v * volume];
      } else if ((item.finer >> d & 1) != 0) {
        int child = 0, bit = 0, fine[3];
        for (int axis = 0; axis < 3; ++axis) {
          const int part = part_of(x[axis], n), half = part == 0 && x[axis] >= n / 2 ? 1 : 0;
          fine[axis] = part < 0 ? 2 * x[axis] + n : part > 0 ? 2 * (x[axis] - n) : 2 * x[axis] - half * n;
          if (part == 0) child |= half << bit++;
        }
        const double* from = a.source + item.from[d][child] + fine[0] + fine[1] * n + fine[2] * plane;
        for (int v = 0; v < a.fields.count; ++v) to[v * tile.volume] = mean_of_eight(from + v * volume, n, plane);
      }
    }
  }

  /// The coarse cells that contain ghost cells of the tile, and others inside it.
  struct coarse_cube {
    int first, width, cells;
  };
  PLX_INLINE static coarse_cube coarse_cells(int n) {
    const int first = -(ghost_depth + 1) / 2, width = n / 2 - 2 * first;
    return {first, width, width * width * width};
  }
  struct coarse_cell {
    int x[3];
    bool is_coarser;  ///< in a coarser block
  };
  PLX_INLINE static coarse_cell coarse_cell_of(const arguments& a, const device::tile_item& item, const coarse_cube& in,
                                               int c) {
    coarse_cell r{{in.first + c % in.width, in.first + c / in.width % in.width, in.first + c / (in.width * in.width)},
                  false};
    r.is_coarser = (item.coarser >> direction_of(r.x[0], r.x[1], r.x[2], a.n / 2) & 1) != 0;
    return r;
  }
  /// Child d of a coarse cell, or null if it is not in the tile.
  PLX_INLINE static double* child_of(const tile_view& tile, int n, const coarse_cell& c, int d) {
    const int f[3] = {2 * c.x[0] + (d & 1), 2 * c.x[1] + (d >> 1 & 1), 2 * c.x[2] + (d >> 2)};
    for (int axis = 0; axis < 3; ++axis)
      if (f[axis] < -ghost_depth || f[axis] >= n + ghost_depth) return nullptr;
    return tile.first + f[0] + static_cast<std::ptrdiff_t>(f[1]) * tile.width + f[2] * tile.plane;
  }
  PLX_INLINE static const double* at_coarse(const tile_view& coarse, const coarse_cell& c) {
    return coarse.first + c.x[0] + static_cast<std::ptrdiff_t>(c.x[1]) * coarse.width + c.x[2] * coarse.plane;
  }

  /// For each coarse cell that contains ghost cells, computes those of its children.
  PLX_INLINE static void prolong(const arguments& a, const device::tile_item& item, const tile_view& tile, int thread) {
    const tile_view coarse = coarse_tile(a, item.coarse_tile);
    const coarse_cube in = coarse_cells(a.n);
    for (int e = thread; e < in.cells * a.fields.groups; e += threads) {
      const coarse_cell c = coarse_cell_of(a, item, in, e % in.cells);
      if (!c.is_coarser) continue;
      const double* at = at_coarse(coarse, c);
      children_of_group(
          e / in.cells, a.fields, a.central,
          [&](int v) { return cell_and_near_at(at + v * coarse.volume, coarse.width, coarse.plane); },
          [&](int v, const double(&child)[8]) {
            for (int d = 0; d < 8; ++d)
              if (double* to = child_of(tile, a.n, c, d)) to[v * tile.volume] = child[d];
          });
    }
  }

  PLX_INLINE static void limit(const arguments& a, const device::tile_item& item, const tile_view& tile, int thread) {
    const tile_view coarse = coarse_tile(a, item.coarse_tile);
    const coarse_cube in = coarse_cells(a.n);
    for (int e = thread; e < in.cells; e += threads) {
      const coarse_cell c = coarse_cell_of(a, item, in, e);
      if (!c.is_coarser) continue;
      double* child[8];
      for (int d = 0; d < 8; ++d) child[d] = child_of(tile, a.n, c, d);
      limit_stored_children(a.fields, at_coarse(coarse, c), coarse.width, coarse.plane, coarse.volume, a.central, child,
                            tile.volume);
    }
  }

  /// Replaces ghost cells across a face by given ones, where there are any; the others are a wall's. Requires: the same
  /// thread has filled the column before.
  PLX_INLINE static void fill_given(const arguments& a, int group, const tile_view& tile, int face, int thread) {
    const int axis = face / 2, ta = axis == 0 ? 1 : 0, tb = axis == 2 ? 1 : 2, w = tile.width, n = a.n;
    const bool upper = face % 2 != 0;
    const std::ptrdiff_t step[3] = {1, w, tile.plane}, outward = upper ? step[axis] : -step[axis];
    const std::ptrdiff_t volume = static_cast<std::ptrdiff_t>(ghost_depth) * n * n;
    const double* given = a.given + a.blocks[group].face[face].origin;
    for (int e = thread; e < w * w * a.fields.count; e += threads) {
      const int v = e / (w * w), s = e % w - ghost_depth, t = e / w % w - ghost_depth;
      if (part_of(s, n) != 0 || part_of(t, n) != 0) continue;
      double* edge = tile.first + v * tile.volume + (upper ? n - 1 : 0) * step[axis] + s * step[ta] + t * step[tb];
      for (int layer = 1; layer <= ghost_depth; ++layer) {
        const int along = upper ? layer - 1 : ghost_depth - layer;
        const double* from = given + (axis == 0   ? (t * n + s) * ghost_depth + along
                                      : axis == 1 ? (t * ghost_depth + along) * n + s
                                                  : (along * n + t) * n + s);
        const double mirrored = edge[(1 - layer) * outward];
        edge[layer * outward] = *from > 0.0                         ? from[v * volume]
                                : a.fields.changes_sign_at(v, axis) ? -mirrored
                                                                    : mirrored;
      }
    }
  }

  PLX_INLINE static void convert(const arguments& a, const tile_view& tile, int group, int thread) {
    const int w = tile.width, n = a.n, n_primitive = variable_count(a.hydro.n_species);
    const bool full = device::tile_reach_of(a.hydro) == device::tile_reach::full;
    const bool counts_all = a.hydro.scheme == hydro_scheme::full3d;
    double* first = tile.first - ghost_depth * (1 + w + tile.plane);
    std::uint64_t floored = 0;
    for (int e = thread; e < w * w * w; e += threads) {
      const int i = e % w - ghost_depth, j = e / w % w - ghost_depth, k = e / (w * w) - ghost_depth;
      const bool is_beside = (part_of(i, n) != 0) + (part_of(j, n) != 0) + (part_of(k, n) != 0) <= 1;
      if (!full && !is_beside) continue;
      double* const at = first + e;
      at[device::tile_energy(a.hydro) * tile.volume] = at[i_energy * tile.volume];
      const bool raised = to_primitive<Eos>(a.hydro, n_primitive, at, tile.volume, at, tile.volume);
      floored += raised && (counts_all || is_beside) ? 1 : 0;
      if (a.hydro.omega != 0.0) {
        double* velocity = at + i_velocity * tile.volume;
        const block_place& place = a.blocks[group].place;
        velocity[0] = velocity[0] + a.hydro.omega * place.centre(1, j);
        velocity[tile.volume] = velocity[tile.volume] - a.hydro.omega * place.centre(0, i);
      }
    }
    if (floored != 0) add_to(&a.reports[group].input_floors, floored);
  }

  /// As find_spin_at() takes them; the spin is replaced in place.
  struct tile_cells {
    const hydro_parameters& p;
    const block_place& place;
    const tile_view& tile;

    PLX_INLINE double* cell(int i, int j, int k) const {
      return tile.first + k * tile.plane + static_cast<std::ptrdiff_t>(j) * tile.width + i;
    }
    PLX_INLINE std::ptrdiff_t primitive_variable() const { return tile.volume; }
    PLX_INLINE double spin_at(int a, int i, int j, int k) const {
      return cell(i, j, k)[(spin_variable(p) + a) * tile.volume];
    }
    PLX_INLINE int moments_across(int axis) const { return device::tile_moments_across(p, axis); }
    PLX_INLINE double dx() const { return place.dx; }
    PLX_INLINE double centre(int axis, int i) const { return place.centre(axis, i); }
    PLX_INLINE double centres(int axis, int i) const { return place.centre(axis, i); }
  };
  PLX_INLINE static void find_spin(const arguments& a, const tile_view& tile, int group, int thread) {
    const tile_cells cells{a.hydro, a.blocks[group].place, tile};
    const int n = a.n, w = n + 2;
    for (int e = thread; e < w * w * w; e += threads) {
      const int i = e % w - 1, j = e / w % w - 1, k = e / (w * w) - 1;
      if ((part_of(i, n) != 0) + (part_of(j, n) != 0) + (part_of(k, n) != 0) <= 1) find_spin_at(cells, i, j, k);
    }
  }
};

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
