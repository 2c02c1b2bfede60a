// The passes of passes.hpp for one thread of a node: the code of devices, and the reference of the code for workers.
//
// Include it with PLX_HYDRO_ISA set. Thread safety, cost: passes.hpp.
// Example: star/gravity/passes.cpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/gravity/expansion.hpp"
#include "star/gravity/passes.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

using namespace gravity_lanes;

/// A cell of a node.
struct node_cell {
  std::int32_t node = -1;  // none: outside of the domain, or coarser blocks are there
  std::int32_t cell = 0;
};

/// The cell at i, j, k of a node, where each may lie up to n cells outside.
PLX_INLINE node_cell cell_around(const pass_view& v, std::int32_t node, int i, int j, int k) {
  const int n = v.n;
  const int x = i < 0 ? 0 : i < n ? 1 : 2, y = j < 0 ? 0 : j < n ? 1 : 2, z = k < 0 ? 0 : k < n ? 1 : 2;
  const std::int32_t there = v.around(node, 9 * z + 3 * y + x);
  return {there, ((k - (z - 1) * n) * n + (j - (y - 1) * n)) * n + (i - (x - 1) * n)};
}

/// Which child of its parent a node is. Requires: it has a parent.
PLX_INLINE int child_number(const pass_view& v, std::int32_t node) {
  const std::int32_t parent = v.parent(node);
  int child = 0;
  while (v.child(parent, child) != node) ++child;
  return child;
}

/// Where a cell of a refined node finds its eight children: cells base + {0, 1} of each axis of a child node.
struct children_of_cell {
  std::int32_t node = -1;
  int i = 0, j = 0, k = 0;
};
PLX_INLINE children_of_cell children_at(const pass_view& v, std::int32_t node, int i, int j, int k) {
  const int half = v.n / 2, x = i >= half, y = j >= half, z = k >= half;
  return {v.child(node, x + 2 * y + 4 * z), 2 * (i - x * half), 2 * (j - y * half), 2 * (k - z * half)};
}

/// A list of partners.
struct partner_list {
  const double* first;
  int count;
};
PLX_INLINE partner_list list_of(const double* table, partners kind, int j, int k, int order = least_order) {
  const double* const list = table + list_at(kind, (j & 1) + 2 * (k & 1), order);
  return {table + static_cast<std::int64_t>(list[0]), static_cast<int>(list[1])};
}
PLX_INLINE const double* powers_of(const double* table, int child, bool opposite) {
  return table + static_cast<std::int64_t>(table[powers_at(child, opposite)]);
}

/// The partner of an entry that is one cell.
PLX_INLINE node_cell partner_at(const pass_view& v, std::int32_t node, int i, int j, int k, const double* e) {
  return cell_around(v, node, i + static_cast<int>(e[0]), j + static_cast<int>(e[1]), k + static_cast<int>(e[2]));
}
/// Image c of the partner of an entry that is a group. Requires: the bits of c are in the mask.
PLX_INLINE node_cell image_at(const pass_view& v, std::int32_t node, int i, int j, int k, const double* e, int c) {
  const int dx = static_cast<int>(e[0]), dy = static_cast<int>(e[1]), dz = static_cast<int>(e[2]);
  const bool opposite = (c & 1) != 0 || ((i & 1) != 0 && (static_cast<int>(e[3]) & 1) == 0);
  return cell_around(v, node, opposite ? i - dx : i + dx, (c & 2) != 0 ? j - dy : j + dy,
                     (c & 4) != 0 ? k - dz : k + dz);
}

/// The moments of a cell: all of them, the mass alone, or none. Those that are not there are read from a zero, without
/// a branch, so that a device has the loads of all images of a group in flight.
struct cell_moments {
  const double* mass;
  const double* rest;  ///< moment k at rest[k * step]
  int step;

  template <int k>
  PLX_INLINE double operator()(std::integral_constant<int, k>) const {
    if constexpr (k == 0) return *mass;
    return rest[static_cast<std::int64_t>(k) * step];
  }
};
/// `blocks`: those of cells of blocks too.
PLX_INLINE cell_moments moments_at(const layout& l, const pass_view& v, const node_cell& at, bool blocks,
                                   const double* zero) {
  const std::int32_t node = at.node < 0 ? 0 : at.node;
  const bool block = v.is_block(node), refined = at.node >= 0 && !block, mass_only = at.node >= 0 && block && blocks;
  const double *moments = v.field(l.moments, node) + at.cell, *mass = v.field(l.masses, node) + at.cell;
  return {refined ? moments : mass_only ? mass : zero, refined ? moments : zero, refined ? v.cells() : 0};
}

// On the CPU one copy of the code serves expansions of all orders; on a device the sums stay in registers.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PLX_GRAVITY_SUM PLX_INLINE
/// Images that a group lacks are added as zeros, which changes no bit of a sum: code without branches.
inline constexpr bool all_images = true;
#else
#define PLX_GRAVITY_SUM __attribute__((noinline))
inline constexpr bool all_images = false;
#endif

/// Adds results of degrees 0..last of far partners of order p in a table. `blocks`: those in blocks too.
template <int p, int last>
PLX_GRAVITY_SUM void add_far_partners(const layout& l, const pass_view& v, const double* table, std::int32_t node,
                                      int i, int j, int k, bool blocks, vd* sum) {
  const double* const zero = table + zero_at;
  const partner_list list = list_of(table, partners::far, j, k, p);
  const double* e = list.first;
  for (int x = 0; x < list.count; ++x, e += entry_doubles(constants_of_far(p))) {
    const int mask = static_cast<int>(e[3]);
    cell_moments images[8];
    bool any = false;
    PLX_UNROLL
    for (int c = 0; c < 8; ++c) {
      const bool is_image = (c & ~mask) == 0;
      if (!is_image && !all_images) continue;
      images[c] =
          is_image ? moments_at(l, v, image_at(v, node, i, j, k, e, c), blocks, zero) : cell_moments{zero, zero, 0};
      any = any || images[c].mass != zero;
    }
    if (!any) continue;
    add_group<p, 0, last>([&](auto q) { return e[4 + 2 * q + (i & 1)]; },
                          [&](auto q, vd(&sums)[8]) {
                            image_sums(
                                all_images ? 7 : mask, [&](int image) { return images[image](q); }, sums);
                          },
                          sum);
  }
}

/// The same for all orders up to that of the expansions.
template <int order, int last, bool capped>
PLX_INLINE void add_all_far_partners(const layout& l, const pass_view& v, const double* table, std::int32_t node, int i,
                                     int j, int k, bool blocks, vd* sum) {
  add_far_partners<3, capped ? last : 3>(l, v, table, node, i, j, k, blocks, sum);
  if constexpr (order >= 4) add_far_partners<4, capped ? last : 4>(l, v, table, node, i, j, k, blocks, sum);
  if constexpr (order >= 5) add_far_partners<5, capped ? last : 5>(l, v, table, node, i, j, k, blocks, sum);
  if constexpr (order >= 6) add_far_partners<6, capped ? last : 6>(l, v, table, node, i, j, k, blocks, sum);
}

// ---- Periodic boxes (images.hpp). Nodes above the root grid may be wider than the box: their cells repeat those of
// the box, so that the nodes around continue it.

PLX_INLINE bool is_top(const layout& l, const pass_view& v, std::int32_t node) {
  return l.periodic() && v.nodes.width[node] == l.top_width;
}
/// Coarser than the top: nothing interacts there.
PLX_INLINE bool is_above_top(const layout& l, const pass_view& v, std::int32_t node) {
  return l.periodic() && v.nodes.width[node] > l.top_width;
}
/// The cells of a node along an axis after which they repeat, n if they do not.
PLX_INLINE int cells_along(const layout& l, const pass_view& v, std::int32_t node, int axis) {
  if (!l.periodic()) return v.n;
  const double cells = l.top_cells[axis] * (l.top_width / v.nodes.width[node]);
  return cells < v.n ? static_cast<int>(cells) : v.n;
}

PLX_INLINE void totals_body(const layout& l, const pass_view& v, std::int32_t node, int which) {
  double sum = 0.0;
  if (v.is_block(node)) {
    const double* density = v.block(v.now, node) + i_density * v.cells();
    const double width = v.nodes.width[node], volume = width * width * width;
    const int n = v.n;
    for (int c = 0; c < v.cells(); ++c) {
      const double m = which == 2 ? volume : volume * density[c];
      double b2 = 1.0;
      if (which > 0) {
        const int at[3] = {c % n, c / n % n, c / (n * n)};
        b2 = 0.0;
        for (int a = 0; a < 3; ++a) {
          const double x = (v.centre(node, a, at[a]) - l.lower[a]) / l.top_width;
          const double b = (x - static_cast<int>(x)) - 0.5;
          b2 = b2 + b * b;
        }
      }
      sum = sum + m * b2;
    }
  } else {
    for (int child = 0; child < 8; ++child)
      if (const std::int32_t below = v.child(node, child); below >= 0) sum = sum + v.field(l.totals, below)[which];
  }
  v.field(l.totals, node)[which] = sum;
}

/// The volume of the box in cells of the top.
PLX_INLINE double top_volume(const layout& l) {
  return static_cast<double>(l.top_cells[0]) * l.top_cells[1] * l.top_cells[2];
}

PLX_INLINE void mean_body(const layout& l, const pass_view& v, std::int32_t node) {
  const std::int32_t parent = v.parent(node);
  double* to = v.field(l.mean, node);
  if (parent < 0) {
    const double* totals = v.field(l.totals, node);
    to[0] = totals[0] / (top_volume(l) * (l.top_width * l.top_width * l.top_width));
    to[1] = totals[1] - to[0] * totals[2];
  } else {
    const double* from = v.field(l.mean, parent);
    for (int i = 0; i < mean_count; ++i) to[i] = from[i];
  }
}
/// The mean density of the box; isolated: 0.
PLX_INLINE double mean_density(const layout& l, const pass_view& v, std::int32_t node) {
  return l.periodic() ? v.field(l.mean, node)[0] : 0.0;
}

/// The part of the local expansions of all cells of the top that is not harmonic (images.hpp): of the potential, then
/// of its derivatives along x, y, z.
struct background {
  double of[4];
};
PLX_INLINE background background_of(const layout& l, const pass_view& v, std::int32_t top) {
  const int n = v.n, cells = v.cells();
  const double* moments = v.field(l.moments, top);
  const double size = 2.0943951023931953 / top_volume(l);  // 2 pi / 3 V
  background b{{0.0 - size * v.field(l.mean, top)[1], 0.0, 0.0, 0.0}};
  for (int k = 0; k < l.top_cells[2]; ++k)
    for (int j = 0; j < l.top_cells[1]; ++j)
      for (int i = 0; i < l.top_cells[0]; ++i)
        for (int a = 1; a < 4; ++a) b.of[a] = b.of[a] + moments[a * cells + (k * n + j) * n + i];
  for (int a = 1; a < 4; ++a) b.of[a] = 0.0 - 2.0 * size * b.of[a];
  return b;
}

PLX_INLINE void masses_body(const layout& l, const pass_view& v, std::int32_t node, int thread, int threads) {
  const double* density = v.block(v.now, node) + i_density * v.cells();
  double* to = v.field(l.masses, node);
  const double width = v.nodes.width[node], volume = width * width * width, mean = mean_density(l, v, node);
  for (int c = thread; c < v.cells(); c += threads) to[c] = volume * (density[c] - mean);
}

template <int order>
PLX_INLINE void moments_body(const layout& l, const pass_view& v, std::int32_t node, int thread, int threads) {
  constexpr int count = count_up_to(order);
  const int n = v.n, cells = v.cells();
  const double* table = v.table(l.table);
  double* to = v.field(l.moments, node);
  if (is_above_top(l, v, node)) {
    for (int c = thread; c < count * cells; c += threads) to[c] = 0.0;
    return;
  }
  const int nx = cells_along(l, v, node, 0), ny = cells_along(l, v, node, 1), nz = cells_along(l, v, node, 2);
  for (int c = thread; c < cells; c += threads) {
    const children_of_cell below = children_at(v, node, c % n % nx, c / n % n % ny, c / (n * n) % nz);
    double sum[count] = {};
    for (int child = 0; below.node >= 0 && child < 8; ++child) {
      const int from = ((below.k + (child >> 2)) * n + below.j + (child >> 1 & 1)) * n + below.i + (child & 1);
      const double* powers = powers_of(table, child, true);
      if (v.is_block(below.node)) {
        const double mass = v.field(l.masses, below.node)[from];
        for (int k = 0; k < count; ++k) sum[k] = sum[k] + powers[k] * mass;
      } else {
        const double* moments = v.field(l.moments, below.node) + from;
        add_moments<order>(
            powers, [&](int k) { return moments[k * cells]; }, sum);
      }
    }
    for (int k = 0; k < count; ++k) to[k * cells + c] = sum[k];
  }
}

template <int order>
PLX_INLINE void interactions_body(const layout& l, const pass_view& v, std::int32_t node, int thread, int threads) {
  constexpr int count = count_up_to(order);
  const int n = v.n, cells = v.cells();
  double* to = v.field(l.locals, node);
  if (is_above_top(l, v, node)) {
    for (int c = thread; c < count * cells; c += threads) to[c] = 0.0;
    return;
  }
  const bool top = is_top(l, v, node);
  const double* const table = v.table(top ? l.images : l.table);
  for (int c = thread; c < cells; c += threads) {
    const int i = c % n, j = c / n % n, k = c / (n * n);
    double sum[count] = {};
    add_all_far_partners<order, order, false>(l, v, table, node, i, j, k, true, sum);
    for (int a = 0; a < count; ++a) to[a * cells + c] = sum[a];
  }
  if (!top) return;
  const background rest = background_of(l, v, node);
  for (int c = thread; c < cells; c += threads)
    for (int a = 0; a < 4; ++a) to[a * cells + c] = to[a * cells + c] + rest.of[a];
}

/// The cell of the parent that contains a cell of a child.
PLX_INLINE int cell_of_parent(const pass_view& v, int child, int i, int j, int k) {
  const int n = v.n, half = n / 2;
  return ((k / 2 + (child >> 2) * half) * n + j / 2 + (child >> 1 & 1) * half) * n + i / 2 + (child & 1) * half;
}
PLX_INLINE int child_of_cell(int i, int j, int k) { return (i & 1) + 2 * (j & 1) + 4 * (k & 1); }

template <int order>
PLX_INLINE void translations_body(const layout& l, const pass_view& v, std::int32_t node, int thread, int threads) {
  constexpr int count = count_up_to(order);
  const std::int32_t parent = v.parent(node);
  if (parent < 0) return;
  const int n = v.n, cells = v.cells(), child = child_number(v, node);
  const double* from = v.field(l.locals, parent);
  double* to = v.field(l.locals, node);
  for (int c = thread; c < cells; c += threads) {
    const int i = c % n, j = c / n % n, k = c / (n * n), above = cell_of_parent(v, child, i, j, k);
    double sum[count];
    for (int a = 0; a < count; ++a) sum[a] = to[a * cells + c];
    const double* powers = powers_of(v.table(l.table), child_of_cell(i, j, k), false);
    add_local<order>([&](int q) { return powers[q]; }, [&](int a) { return from[a * cells + above]; }, sum);
    for (int a = 0; a < count; ++a) to[a * cells + c] = sum[a];
  }
}

/// Potential and gradient at cells of a block, from the local expansions of the parent's cells, in cells of the block.
template <int order>
PLX_INLINE void evaluate_parent(const layout& l, const pass_view& v, std::int32_t parent, int child, int i, int j,
                                int k, vd (&sum)[4]) {
  const int cells = v.cells();
  const double* from = v.field(l.locals, parent) + cell_of_parent(v, child, i, j, k);
  const double* powers = powers_of(v.table(l.table), child_of_cell(i, j, k), false);
  evaluate<order>([&](int q) { return powers[q]; }, [&](int a) { return from[a * cells]; }, sum);
}

PLX_INLINE void add_mass(const double* constants, double mass, vd (&sum)[4]) {
  for (int a = 0; a < 4; ++a) sum[a] = sum[a] + constants[2 * a] * mass;
}

/// The mass of a cell, 0 if it is not one of a block.
PLX_INLINE double mass_at(const layout& l, const pass_view& v, const node_cell& at) {
  return at.node >= 0 && v.is_block(at.node) ? v.field(l.masses, at.node)[at.cell] : 0.0;
}

/// The masses around a block, up to `reach` cells outside, 0 in cells that are not those of blocks; `values`: null if
/// there is no such copy.
struct mass_tile {
  const double* values = nullptr;
  int reach = 0;
};
PLX_INLINE void copy_masses(const layout& l, const pass_view& v, std::int32_t node, int thread, int threads,
                            double* to) {
  const int edge = v.n + 2 * l.reach, count = edge * edge * edge;
  for (int c = thread; c < count; c += threads)
    to[c] =
        mass_at(l, v, cell_around(v, node, c % edge - l.reach, c / edge % edge - l.reach, c / (edge * edge) - l.reach));
}

/// The images of an entry that is a group, in a tile: image c is own[(c & 1 ? x1 : x0) + (c & 2 ? -y : y) +
/// (c & 4 ? -z : z)].
struct tile_images {
  const double* own;
  int x0, x1, y, z;
  PLX_INLINE double operator()(int c) const {
    return own[((c & 1) != 0 ? x1 : x0) + ((c & 2) != 0 ? -y : y) + ((c & 4) != 0 ? -z : z)];
  }
};

PLX_INLINE void add_direct(const layout& l, const pass_view& v, std::int32_t node, const mass_tile& tile, int i, int j,
                           int k, vd (&sum)[4]) {
  const partner_list list = list_of(v.table(l.table), partners::direct, j, k);
  const double* e = list.first;
  const int edge = v.n + 2 * tile.reach;
  const int own = ((k + tile.reach) * edge + j + tile.reach) * edge + i + tile.reach;
  for (int x = 0; x < list.count; ++x, e += entry_doubles(4)) {
    const int mask = static_cast<int>(e[3]);
    vd sums[8];
    if (tile.values != nullptr) {
      const int dx = static_cast<int>(e[0]);
      const tile_images images{tile.values + own, (i & 1) != 0 && (mask & 1) == 0 ? -dx : dx, -dx,
                               static_cast<int>(e[1]) * edge, static_cast<int>(e[2]) * (edge * edge)};
      if (mask == 7)
        image_sums(7, images, sums);
      else
        image_sums(mask, images, sums);
    } else {
      image_sums(
          mask, [&](int c) { return mass_at(l, v, image_at(v, node, i, j, k, e, c)); }, sums);
    }
    add_masses_of_group([&](int q) { return e[4 + 2 * q + (i & 1)]; }, sums, sum);
  }
}

/// A block's cells beside refined nodes, whose cells are partners by moments or by their children.
template <int order>
PLX_INLINE void add_refined(const layout& l, const pass_view& v, std::int32_t node, int i, int j, int k, vd (&sum)[4]) {
  add_all_far_partners<order, 1, true>(l, v, v.table(l.table), node, i, j, k, false, sum);
  const int n = v.n;
  const partner_list list = list_of(v.table(l.table), partners::finer, j, k);
  const double* e = list.first;
  for (int x = 0; x < list.count; ++x, e += entry_doubles(32)) {
    const node_cell there = partner_at(v, node, i, j, k, e);
    if (there.node < 0 || v.is_block(there.node)) continue;
    const children_of_cell below = children_at(v, there.node, there.cell % n, there.cell / n % n, there.cell / (n * n));
    const double* masses = v.field(l.masses, below.node);
    for (int child = 0; child < 8; ++child)
      add_mass(e + 4 + 8 * child + (i & 1),
               masses[((below.k + (child >> 2)) * n + below.j + (child >> 1 & 1)) * n + below.i + (child & 1)], sum);
  }
}

/// A block's cells beside coarser blocks, which are beside the parent.
PLX_INLINE void add_coarser(const layout& l, const pass_view& v, std::int32_t parent, int child, int i, int j, int k,
                            vd (&sum)[4]) {
  const int n = v.n, half = n / 2;
  const partner_list list = list_of(v.table(l.table), partners::coarser, j, k);
  const double* e = list.first;
  for (int x = 0; x < list.count; ++x, e += entry_doubles(4)) {
    const node_cell there = cell_around(v, parent, i / 2 + (child & 1) * half + static_cast<int>(e[0]) / 2,
                                        j / 2 + (child >> 1 & 1) * half + static_cast<int>(e[1]) / 2,
                                        k / 2 + (child >> 2) * half + static_cast<int>(e[2]) / 2);
    add_mass(e + 4 + (i & 1), mass_at(l, v, there), sum);
  }
}

/// Is a refined node around this block, or a coarser block?
struct surroundings {
  bool refined = false, coarser = false;
};
PLX_INLINE surroundings around_block(const pass_view& v, std::int32_t node, std::int32_t parent) {
  surroundings s;
  for (int d = 0; d < 27; ++d) {
    const std::int32_t same = v.around(node, d), above = v.around(parent, d);
    s.refined = s.refined || (same >= 0 && !v.is_block(same));
    s.coarser = s.coarser || (above >= 0 && v.is_block(above));
  }
  return s;
}

template <int order>
PLX_INLINE void accelerations_body(const layout& l, const pass_view& v, std::int32_t node, const mass_tile& tile,
                                   int thread, int threads) {
  const int n = v.n, cells = v.cells();
  const std::int32_t parent = v.parent(node);
  const int child = child_number(v, node);
  const surroundings beside = around_block(v, node, parent);
  const double width = v.nodes.width[node], potential = l.constant / width, force = potential / width;
  double* to = v.field(l.results, node);
  const double* masses = v.field(l.masses, node);
  for (int c = thread; c < cells; c += threads) {
    const int i = c % n, j = c / n % n, k = c / (n * n);
    double sum[4];
    evaluate_parent<order>(l, v, parent, child, i, j, k, sum);
    add_direct(l, v, node, tile, i, j, k, sum);
    if (beside.refined) add_refined<order>(l, v, node, i, j, k, sum);
    if (beside.coarser) add_coarser(l, v, parent, child, i, j, k, sum);
    to[c] = v.field(l.potential, node)[c] = potential * (sum[0] - own_part * masses[c]);
    for (int a = 1; a < 4; ++a) to[a * cells + c] = 0.0 - force * sum[a];
  }
}

/// The value in one of the two layers of cells around a block (stage_input::potential); `own` is that of the block's
/// cell along the face. Across a face without cells of the same level, the potential at the face is that of a coarser
/// neighbour, and beside finer neighbours and at the boundaries of the domain that of the block's cell.
PLX_INLINE double potential_beyond(const layout& l, const pass_view& v, std::int32_t node, const int (&x)[3],
                                   double own) {
  const int n = v.n, half = n / 2;
  const node_cell there = cell_around(v, node, x[0], x[1], x[2]);
  if (there.node >= 0 && v.is_block(there.node)) return v.field(l.potential, there.node)[there.cell];
  for (int a = 0; a < 3; ++a)
    if (x[a] < -1 || x[a] > n) return __builtin_nan("");
  if (there.node >= 0) return own;
  const std::int32_t parent = v.parent(node);
  const int child = child_number(v, node);
  const auto halved = [](int i) { return (i - (i & 1)) / 2; };
  const node_cell above = cell_around(v, parent, halved(x[0]) + (child & 1) * half,
                                      halved(x[1]) + (child >> 1 & 1) * half, halved(x[2]) + (child >> 2) * half);
  if (above.node < 0 || !v.is_block(above.node)) return own;
  return 2.0 * v.field(l.potential, above.node)[above.cell] - own;
}

PLX_INLINE void around_body(const layout& l, const pass_view& v, std::int32_t node, int thread, int threads) {
  const int n = v.n, edge = n + 4;
  const double* from = v.field(l.potential, node);
  double* to = v.field(l.around, node);
  for (int c = thread; c < edge * edge * edge; c += threads) {
    const int x[3] = {c % edge - 2, c / edge % edge - 2, c / (edge * edge) - 2};
    int at[3], outside = 0;
    for (int a = 0; a < 3; ++a) {
      at[a] = x[a] < 0 ? 0 : x[a] < n ? x[a] : n - 1;
      if (at[a] != x[a]) ++outside;
    }
    const double own = from[(at[2] * n + at[1]) * n + at[0]];
    to[c] = outside == 1 ? potential_beyond(l, v, node, x, own) : own;
  }
}

PLX_INLINE void energy_body(const layout& l, const pass_view& v, std::int32_t node) {
  const double* masses = v.field(l.masses, node);
  const double* potential = v.field(l.results, node);
  double sum = 0.0;
  for (int c = 0; c < v.cells(); ++c) sum = sum + masses[c] * potential[c];
  v.field(l.energy, node)[l.at_end ? 1 : 0] = 0.5 * sum;
}

/// One of the sums of a node.
PLX_INLINE void node_sums_body(const layout& l, const pass_view& v, std::int32_t node, int which) {
  double sum = 0.0;
  if (v.is_block(node)) {
    const int n = v.n, cells = v.cells();
    const double* masses = v.field(l.masses, node);
    const double* g = v.field(l.results, node) + cells;
    const double width = v.nodes.width[node], mean = mean_density(l, v, node) * (width * width * width);
    constexpr int first[6] = {0, 0, 0, 1, 1, 2}, second[6] = {0, 1, 2, 1, 2, 2};
    for (int c = 0; c < cells; ++c) {
      const double x[3] = {v.centre(node, 0, c % n), v.centre(node, 1, c / n % n), v.centre(node, 2, c / (n * n))};
      const double m = masses[c] + mean;
      double term = m;
      if (which >= 13) {
        const int a = (which - 12) % 3, b = (which - 11) % 3;
        term = m * (x[a] * g[b * cells + c] - x[b] * g[a * cells + c]);
      } else if (which >= 10) {
        term = m * g[(which - 10) * cells + c];
      } else if (which >= 4) {
        term = m * (x[first[which - 4]] * x[second[which - 4]]);
      } else if (which >= 1) {
        term = m * x[which - 1];
      }
      sum = sum + term;
    }
  } else {
    for (int child = 0; child < 8; ++child)
      if (const std::int32_t below = v.child(node, child); below >= 0) sum = sum + v.field(l.sums, below)[which];
  }
  v.field(l.sums, node)[which] = sum;
}

/// The uniform acceleration and the rotation that cancel total force and torque: u = -F/M, w = -I^-1 T about the centre
/// of mass. No rotation if the inertia tensor is singular, or `rotates` is false.
PLX_INLINE void correction_of(const double* s, double* to, bool rotates = true) {
  for (int i = 0; i < correction_count; ++i) to[i] = 0.0;
  const double m = s[0];
  if (!(m > 0.0)) return;
  double* c = to + 6;
  for (int a = 0; a < 3; ++a) {
    to[a] = 0.0 - s[10 + a] / m;
    c[a] = s[1 + a] / m;
  }
  if (!rotates) return;
  double t[3];
  for (int a = 0; a < 3; ++a) {
    const int b = (a + 1) % 3, d = (a + 2) % 3;
    t[a] = s[13 + a] - (c[b] * s[10 + d] - c[d] * s[10 + b]);
  }
  // Second moments about the centre of mass, then the inertia tensor.
  const double xx = s[4] - m * (c[0] * c[0]), xy = s[5] - m * (c[0] * c[1]), xz = s[6] - m * (c[0] * c[2]);
  const double yy = s[7] - m * (c[1] * c[1]), yz = s[8] - m * (c[1] * c[2]), zz = s[9] - m * (c[2] * c[2]);
  const double a = yy + zz, b = xx + zz, d = xx + yy, p = 0.0 - xy, q = 0.0 - xz, r = 0.0 - yz;
  // Adjugate of {{a, p, q}, {p, b, r}, {q, r, d}}.
  const double aa = b * d - r * r, ap = q * r - p * d, aq = p * r - q * b, ab = a * d - q * q, ar = p * q - a * r,
               ad = a * b - p * p;
  const double determinant = a * aa + (p * ap + q * aq), size = a + (b + d);
  if (!(determinant > 1e-12 * (size * (size * size)))) return;
  to[3] = 0.0 - (aa * t[0] + (ap * t[1] + aq * t[2])) / determinant;
  to[4] = 0.0 - (ap * t[0] + (ab * t[1] + ar * t[2])) / determinant;
  to[5] = 0.0 - (aq * t[0] + (ar * t[1] + ad * t[2])) / determinant;
}

PLX_INLINE void corrections_body(const layout& l, const pass_view& v, std::int32_t node) {
  const std::int32_t parent = v.parent(node);
  double* to = v.field(l.correction, node);
  if (parent < 0) return correction_of(v.field(l.sums, node), to, !l.periodic());
  const double* from = v.field(l.correction, parent);
  for (int i = 0; i < correction_count; ++i) to[i] = from[i];
}

PLX_INLINE void source_body(const layout& l, const pass_view& v, std::int32_t node, int thread, int threads) {
  const int n = v.n, cells = v.cells();
  const double* u = v.block(v.now, node);
  double* next = v.block(v.next, node);
  const double* potential = v.field(l.results, node);
  const double* g = potential + cells;
  const double* fix = v.field(l.correction, node);
  const double* start = v.block(v.start, node);
  const double* work = v.field(l.work, node);
  double *at_start = v.field(l.change, node), *change = at_start + cells;
  const double dt = v.stage_dt(), dt_dx = dt / v.nodes.width[node];
  const bool first = v.now == v.start;
  for (int c = thread; c < cells; c += threads) {
    double x[3];
    for (int a = 0; a < 3; ++a)
      x[a] = v.centre(node, a, a == 0 ? c % n : a == 1 ? c / n % n : c / (n * n)) - fix[6 + a];
    double whole[3];
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, d = (a + 2) % 3;
      whole[a] = g[a * cells + c] + (fix[a] + (fix[3 + b] * x[d] - fix[3 + d] * x[b]));
      next[(i_momentum + a) * cells + c] = next[(i_momentum + a) * cells + c] + dt * (u[c] * whole[a]);
    }
    next[i_energy * cells + c] =
        next[i_energy * cells + c] - dt_dx * sum3(work[c], work[cells + c], work[2 * cells + c]);
    if (l.omega != 0.0) {  // the mass flux is relative to the mesh: the work on gas that moves with it is missing
      const double torque = (x[0] + fix[6]) * whole[1] - (x[1] + fix[7]) * whole[0];
      next[i_energy * cells + c] = next[i_energy * cells + c] + (dt * l.omega) * (u[c] * torque);
    }
    if (first) at_start[c] = potential[c];
    const double moved = (next[c] - start[c]) - v.weight * (u[c] - start[c]);
    change[c] = (first ? 0.0 : v.weight * change[c]) + potential[c] * moved;
  }
}

/// The stages have taken the sum over cells of `change` from the energy, up to what flowed through the boundaries; the
/// energy of the potential has changed by the mean of the potentials before and after times the change of mass.
PLX_INLINE void balance_body(const layout& l, const pass_view& v, std::int32_t node, int thread, int threads) {
  const int cells = v.cells();
  const double* start = v.block(v.start, node);
  double* u = v.block(v.now, node);
  const double* potential = v.field(l.results, node);
  const double *at_start = v.field(l.change, node), *change = at_start + cells;
  for (int c = thread; c < cells; c += threads)
    u[i_energy * cells + c] =
        u[i_energy * cells + c] + (change[c] - 0.5 * (at_start[c] + potential[c]) * (u[c] - start[c]));
}

/// True if a pass has nothing to do.
PLX_INLINE bool is_skipped(const layout& l, const pass_view& v) { return l.may_skip && *v.carried != 0; }

/// The work of one thread of a node. `tile`: for accelerations, copy_masses().
template <pass_kind kind, int order>
PLX_INLINE void run_pass(const layout& l, const pass_view& v, std::int32_t node, int thread, int threads,
                         const mass_tile& tile = {}) {
  if (is_skipped(l, v)) return;
  if constexpr (kind == pass_kind::totals)
    totals_body(l, v, node, thread);
  else if constexpr (kind == pass_kind::mean)
    mean_body(l, v, node);
  else if constexpr (kind == pass_kind::masses)
    masses_body(l, v, node, thread, threads);
  else if constexpr (kind == pass_kind::moments)
    moments_body<order>(l, v, node, thread, threads);
  else if constexpr (kind == pass_kind::interactions)
    interactions_body<order>(l, v, node, thread, threads);
  else if constexpr (kind == pass_kind::translations)
    translations_body<order>(l, v, node, thread, threads);
  else if constexpr (kind == pass_kind::accelerations)
    accelerations_body<order>(l, v, node, tile, thread, threads);
  else if constexpr (kind == pass_kind::energy)
    energy_body(l, v, node);
  else if constexpr (kind == pass_kind::around)
    around_body(l, v, node, thread, threads);
  else if constexpr (kind == pass_kind::balance)
    balance_body(l, v, node, thread, threads);
  else if constexpr (kind == pass_kind::node_sums)
    node_sums_body(l, v, node, thread);
  else if constexpr (kind == pass_kind::corrections)
    corrections_body(l, v, node);
  else
    source_body(l, v, node, thread, threads);
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
