// The functions of kernel_table for one instruction set, and the table. Compiled once per instruction set (plx_kernels
// in cmake/plx_library.cmake) with PLX_ISA set to its namespace.
//
// Thread safety, cost: kernels.hpp. Example: star/gravity/test/kernels_test.cpp
#pragma once

#define PLX_HYDRO_ISA PLX_ISA

#include "star/gravity/expansion.hpp"
#include "star/gravity/kernels.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

using namespace gravity_lanes;

/// A list of partners, and the number of doubles of an entry.
struct partner_list {
  const double* first;
  int count;
  int doubles;
};
PLX_INLINE partner_list list_of(const double* table, int at, int doubles) {
  return {table + static_cast<std::ptrdiff_t>(table[at]), static_cast<int>(table[at + 1]), doubles};
}

/// Doubles of the tile from a cell to its partner.
PLX_INLINE std::ptrdiff_t offset_of(const sum_task& t, double dx, double dy, double dz) {
  const int width = t.n + 2 * t.tile.reach;
  const std::ptrdiff_t rows = static_cast<std::ptrdiff_t>(dz) * width + static_cast<std::ptrdiff_t>(dy);
  return rows * t.tile.count * t.tile.stride + static_cast<std::ptrdiff_t>(dx);
}

/// The partners of the cells of a row, and where they are in the tile.
struct row_partners {
  partner_list mirrored, others;
  const std::ptrdiff_t* images;   ///< eight of each mirrored one
  const std::ptrdiff_t* offsets;  ///< of the others
  const std::uint8_t* filled;     ///< tile_view::filled of the row; null: all
  int width;                      ///< rows of the tile along y
};

/// Are all values of an entry's partners, or of all eight images of one, zeros? They would add zeros.
PLX_INLINE bool all_zero(const row_partners& from, const double* e, bool mirrored) {
  if (from.filled == nullptr) return false;
  const int x = static_cast<int>(e[0]), y = static_cast<int>(e[1]), z = static_cast<int>(e[2]) * from.width;
  if (!mirrored) return (from.filled[z + y] & (x == 0 ? 2 : x > 0 ? 6 : 3)) == 0;
  const int filled = from.filled[z + y] | from.filled[z - y] | from.filled[y - z] | from.filled[-y - z];
  return (filled & (x == 0 ? 2 : 7)) == 0;
}

/// Calls f(first cell of the row, its partners, its own cells in the tile) for each row along x. `mirrored`: may be
/// empty.
template <class F>
PLX_INLINE void for_rows(const sum_task& t, partners kind, int order, int constants, const partner_list& mirrored,
                         F&& f) {
  const int width = t.n + 2 * t.tile.reach;
  const std::ptrdiff_t row_doubles = std::ptrdiff_t{t.tile.count} * t.tile.stride;
  std::ptrdiff_t* images = t.offsets;
  const double* e = mirrored.first;
  for (int x = 0; x < mirrored.count; ++x, e += mirrored.doubles)
    for (int c = 0; c < 8; ++c)
      *images++ = offset_of(t, (c & 1) != 0 ? -e[0] : e[0], (c & 2) != 0 ? -e[1] : e[1], (c & 4) != 0 ? -e[2] : e[2]);
  for (int row = 0; row < 4; ++row) {  // rows with equal partners
    const partner_list others = list_of(t.table, list_at(kind, row, order), entry_doubles(constants));
    e = others.first;
    for (int x = 0; x < others.count; ++x, e += others.doubles) images[x] = offset_of(t, e[0], e[1], e[2]);
    row_partners both{mirrored, others, t.offsets, images, nullptr, width};
    for (int k = row >> 1; k < t.n; k += 2)
      for (int j = row & 1; j < t.n; j += 2) {
        const std::ptrdiff_t at = (std::ptrdiff_t{k} + t.tile.reach) * width + j + t.tile.reach;
        if (t.tile.filled != nullptr) both.filled = t.tile.filled + at;
        f((k * t.n + j) * t.n, both, t.tile.values + at * row_doubles + t.tile.reach);
      }
  }
}

/// Adds results of degrees first..last of the far partners of a vector of cells, at `own` in the tile, to `sum`.
template <int order, int first, int last>
PLX_INLINE void add_partners(const sum_task& t, const row_partners& from, const double* own, vd* sum) {
  const std::ptrdiff_t stride = t.tile.stride;
  const double* e = from.mirrored.first;
  for (int x = 0; x < from.mirrored.count; ++x, e += from.mirrored.doubles) {
    if (all_zero(from, e, true)) continue;
    const std::ptrdiff_t* images = from.images + 8 * x;
    add_mirrored<order, first, last>([&](auto k) { return all(e[4 + k]); },
                                     [&](auto k, int image) { return load(own + images[image] + k * stride); }, sum);
  }
  e = from.others.first;
  for (int x = 0; x < from.others.count; ++x, e += from.others.doubles) {
    if (all_zero(from, e, false)) continue;
    const double* other = own + from.offsets[x];
    add_all<detail::far_list<order, first, last>, first * first>([&](auto k) { return load_pair(e + 4 + 2 * k); },
                                                                 [&](auto k) { return load(other + k * stride); }, sum);
  }
}

/// Adds results of degrees first..last of all cells: of local expansions, or, for 0..1, potentials and gradients.
template <int order, int first, int last>
void add_degrees(const sum_task& t) {
  constexpr int base = first * first, count = count_up_to(last) - base, constants = constants_of_far(order);
  const std::ptrdiff_t cells = std::ptrdiff_t{t.n} * t.n * t.n;
  const partner_list mirrored = list_of(t.table, mirrored_at(partners::far, order), mirrored_doubles(constants));
  for_rows(t, partners::far, order, constants, mirrored,
           [&](std::ptrdiff_t to, const row_partners& from, const double* own) {
             for (int i = 0; i < t.n; i += lanes) {
               vd sum[count];
               for (int c = 0; c < count; ++c) sum[c] = load(t.to + (base + c) * cells + to + i);
               add_partners<order, first, last>(t, from, own + i, sum);
               for (int c = 0; c < count; ++c) store(t.to + (base + c) * cells + to + i, sum[c]);
             }
           });
}

/// In groups whose sums fit into registers.
template <int order>
void add_far(const sum_task& t) {
  add_degrees<order, 0, 2>(t);
  add_degrees<order, 3, 3>(t);
  if constexpr (order >= 4) add_degrees<order, 4, 4>(t);
  if constexpr (order >= 5) add_degrees<order, 5, 5>(t);
  if constexpr (order >= 6) add_degrees<order, 6, 6>(t);
}

/// Potentials and gradients of point masses: add(constants, masses, sums).
template <int constants, class Add>
PLX_INLINE void add_points(const sum_task& t, partners kind, const partner_list& mirrored, Add&& add) {
  const std::ptrdiff_t cells = std::ptrdiff_t{t.n} * t.n * t.n;
  for_rows(t, kind, least_order, constants, mirrored,
           [&](std::ptrdiff_t to, const row_partners& from, const double* own) {
             constexpr int together = lanes < 8 ? 2 : 1;  // vectors that share the constants
             for (int i = 0; i < t.n; i += together * lanes) {
               vd sum[together][4];
               for (int v = 0; v < together; ++v)
                 for (int c = 0; c < 4; ++c) sum[v][c] = load(t.to + c * cells + to + i + v * lanes);
               const double* e = from.mirrored.first;
               for (int x = 0; x < from.mirrored.count; ++x, e += from.mirrored.doubles) {
                 if (all_zero(from, e, true)) continue;
                 const std::ptrdiff_t* images = from.images + 8 * x;
                 for (int v = 0; v < together; ++v)
                   add_mirrored_masses([&](int k) { return all(e[4 + k]); },
                                       [&](int image) { return load(own + images[image] + i + v * lanes); }, sum[v]);
               }
               e = from.others.first;
               for (int x = 0; x < from.others.count; ++x, e += from.others.doubles) {
                 if (all_zero(from, e, false)) continue;
                 const double* other = own + from.offsets[x] + i;
                 for (int v = 0; v < together; ++v) add(e + 4, other + v * lanes, sum[v]);
               }
               for (int v = 0; v < together; ++v)
                 for (int c = 0; c < 4; ++c) store(t.to + c * cells + to + i + v * lanes, sum[v][c]);
             }
           });
}

void add_masses(const sum_task& t, partners kind) {
  partner_list mirrored{nullptr, 0, 0};
  if (kind == partners::direct) mirrored = list_of(t.table, mirrored_at(kind), mirrored_doubles(4));
  add_points<4>(t, kind, mirrored, [&](const double* e, const double* from, vd(&sum)[4]) {
    const vd mass = load(from);
    for (int c = 0; c < 4; ++c) sum[c] = sum[c] + load_pair(e + 2 * c) * mass;
  });
}

void add_finer(const sum_task& t) {
  const std::ptrdiff_t stride = t.tile.stride;
  add_points<32>(t, partners::finer, {nullptr, 0, 0}, [&](const double* e, const double* from, vd(&sum)[4]) {
    for (int child = 0; child < 8; ++child) {
      const vd mass = load(from + child * stride);
      for (int c = 0; c < 4; ++c) sum[c] = sum[c] + load_pair(e + 8 * child + 2 * c) * mass;
    }
  });
}

/// Calls f<order>() of the order given at run time.
template <class F>
void with_order(int order, F&& f) {
  switch (order) {
    case 3:
      return f.template operator()<3>();
    case 4:
      return f.template operator()<4>();
    case 5:
      return f.template operator()<5>();
    default:
      return f.template operator()<6>();
  }
}

void far_of(const sum_task& t, int order) {
  with_order(order, [&]<int p>() { add_far<p>(t); });
}
void far_points_of(const sum_task& t, int order) {
  with_order(order, [&]<int p>() { add_degrees<p, 0, 1>(t); });
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA

namespace plx::star::gravity::PLX_HYDRO_ISA {

const kernel_table table{star::PLX_HYDRO_ISA::far_of, star::PLX_HYDRO_ISA::far_points_of,
                         star::PLX_HYDRO_ISA::add_masses, star::PLX_HYDRO_ISA::add_finer};

}  // namespace plx::star::gravity::PLX_HYDRO_ISA
