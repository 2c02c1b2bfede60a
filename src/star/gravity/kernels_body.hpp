// The functions of kernel_table for one instruction set, and the table. Compiled once per instruction set (plx_kernels
// in cmake/plx_library.cmake) with PLX_ISA set to its namespace.
//
// Thread safety, cost: kernels.hpp. Example: star/gravity/test/kernels_test.cpp
#pragma once

#define PLX_HYDRO_ISA PLX_ISA

#include <iterator>

#include "star/gravity/expansion.hpp"
#include "star/gravity/kernels.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

using namespace gravity_lanes;

/// The entries of a list.
struct place_list {
  const partner_place* first;
  int count;
};

/// Lists the partners of rows of a kind: (y odd) + 2 (z odd).
inline place_list list_places(const sum_task& t, partners kind, int row, int order, int constants) {
  const double* const list = t.table + list_at(kind, row, order);
  const double* e = t.table + static_cast<std::ptrdiff_t>(list[0]);
  const int count = static_cast<int>(list[1]), width = t.n + 2 * t.tile.reach;
  for (int x = 0; x < count; ++x, e += entry_doubles(constants)) {
    partner_place& p = t.memory->places[x];
    p.constants = e + 4;
    p.dx = static_cast<std::ptrdiff_t>(e[0]);
    p.mask = static_cast<int>(e[3]);
    const int y = static_cast<int>(e[1]), z = static_cast<int>(e[2]) * width;
    for (int c = 0; c < 4; ++c) {
      p.filled[c] = ((c & 2) != 0 ? -z : z) + ((c & 1) != 0 ? -y : y);
      p.rows[c] = std::ptrdiff_t{p.filled[c]} * t.tile.count * t.tile.stride;
    }
  }
  return {t.memory->places, count};
}

/// Are all values of a group's cells zeros? They would add zeros. `filled`: tile_view::filled of the row; null:
/// unknown.
PLX_INLINE bool all_zero(const std::uint8_t* filled, const partner_place& p) {
  if (filled == nullptr) return false;
  int found = filled[p.filled[0]];
  if ((p.mask & 2) != 0) found |= filled[p.filled[1]];
  if ((p.mask & 4) != 0) found |= filled[p.filled[2]];
  if ((p.mask & 6) == 6) found |= filled[p.filled[3]];
  return (found & (p.dx == 0 ? 2 : 7)) == 0;
}

/// Calls f(first cell of the row, its partners, its own cells in the tile, tile_view::filled) for each row along x.
template <class F>
PLX_INLINE void for_rows(const sum_task& t, partners kind, int order, int constants, F&& f) {
  const int width = t.n + 2 * t.tile.reach;
  const std::ptrdiff_t row_doubles = std::ptrdiff_t{t.tile.count} * t.tile.stride;
  for (int row = 0; row < 4; ++row) {  // rows with equal partners
    const place_list all = list_places(t, kind, row, order, constants);
    for (int k = row >> 1; k < t.n; k += 2)
      for (int j = row & 1; j < t.n; j += 2) {
        const std::ptrdiff_t at = (std::ptrdiff_t{k} + t.tile.reach) * width + j + t.tile.reach;
        f((k * t.n + j) * t.n, all, t.tile.values + at * row_doubles + t.tile.reach,
          t.tile.filled != nullptr ? t.tile.filled + at : nullptr);
      }
  }
}

/// Image c of a group, for a vector of cells whose row of the image is `row`.
template <int mask>
PLX_INLINE vd load_image(const double* row, std::ptrdiff_t dx, int c) {
  if constexpr ((mask & 1) != 0)
    return load((c & 1) != 0 ? row - dx : row + dx);
  else
    return even_and_odd(load(row + dx), load(row - dx));
}

/// The number of an image among those of a mask.
constexpr int place_of(int mask, int image) {
  int place = 0, bit = 1;
  for (int a = 0; a < 3; ++a) {
    if (((mask >> a) & 1) == 0) continue;
    if (((image >> a) & 1) != 0) place |= bit;
    bit <<= 1;
  }
  return place;
}
constexpr int images_of(int mask) { return place_of(mask, 7) + 1; }

/// Stores image_sums() of `count` moments of a group for a vector of cells, at `own` in the tile. Shapes: to:
/// [place_of(mask, signs)][moment][lane].
template <int mask>
void store_sums(const partner_place& p, const double* own, std::ptrdiff_t stride, int count, double* to) {
  for (int b = 0; b < count; ++b, own += stride, to += lanes) {
    vd sums[8];
    image_sums(
        mask, [&](int c) { return load_image<mask>(own + p.rows[c >> 1], p.dx, c); }, sums);
    for (int c = 0; c < 8; ++c)
      if ((c & ~mask) == 0) store(to + place_of(mask, c) * count * lanes, sums[c]);
  }
}

/// Adds results of degrees 0..2 of a group to `to`, and stores image_sums() of its first `stored` moments, for a vector
/// of cells at `own` in the tile. Shapes: sums: [place_of(mask, signs)][moment][lane].
template <int order, int stored, int mask>
void add_low_degrees(const partner_place& p, const double* own, std::ptrdiff_t stride, double* sums, vd* to) {
  add_group<order, 0, 2>([&](auto k) { return load_pair(p.constants + 2 * k); },
                         [&](auto k, vd(&all)[8]) {
                           const double* at = own + k * stride;
                           image_sums(
                               mask, [&](int c) { return load_image<mask>(at + p.rows[c >> 1], p.dx, c); }, all);
                           if constexpr (k < stored)
                             for (int c = 0; c < 8; ++c)
                               if ((c & ~mask) == 0) store(sums + (place_of(mask, c) * stored + k) * lanes, all[c]);
                         },
                         to);
}

/// Calls f<mask>() of a mask given at run time.
template <class F>
PLX_INLINE void with_mask(int mask, F&& f) {
  switch (mask) {
    case 0:
      return f.template operator()<0>();
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    case 4:
      return f.template operator()<4>();
    case 5:
      return f.template operator()<5>();
    case 6:
      return f.template operator()<6>();
    default:
      return f.template operator()<7>();
  }
}

/// The stored sums of a group of far partners, by signs.
struct stored_group {
  const double* constants;
  const double* sums[8];
};

/// Adds results of degrees first..last of groups.
template <int order, int first, int last>
PLX_INLINE void add_degrees(const stored_group* groups, int count, double* to, std::ptrdiff_t cells) {
  constexpr int base = first * first, results = count_up_to(last) - base;
  vd sum[results];
  for (int c = 0; c < results; ++c) sum[c] = load(to + (base + c) * cells);
  for (const stored_group* g = groups; g < groups + count; ++g)
    add_group<order, first, last>([&](auto k) { return load_pair(g->constants + 2 * k); },
                                  [&](auto k, vd(&sums)[8]) {
                                    for (int s = 0; s < 8; ++s) sums[s] = load(g->sums[s] + k * lanes);
                                  },
                                  sum);
  for (int c = 0; c < results; ++c) store(to + (base + c) * cells, sum[c]);
}

/// Adds results of all cells: of local expansions, or, if `points`, potentials and gradients. In groups of degrees
/// whose sums fit into registers.
template <int order, bool points>
void add_far(const sum_task& t) {
  // With low orders the lowest degrees, which need all moments, are added without storing these. That takes code for
  // each mask, which would be too long for high orders.
  constexpr bool at_once = order <= 4 && !points;
  constexpr int moments = count_up_to(at_once ? order - 3 : order), low = at_once ? 9 : 0, most_groups = 16;
  const std::ptrdiff_t cells = std::ptrdiff_t{t.n} * t.n * t.n;
  for_rows(t, partners::far, order, constants_of_far(order),
           [&](std::ptrdiff_t to, const place_list& from, const double* own, const std::uint8_t* filled) {
             for (int i = 0; i < t.n; i += lanes) {
               double* const at = t.to + to + i;
               vd sum[low + 1];
               for (int c = 0; c < low; ++c) sum[c] = load(at + c * cells);
               const partner_place* p = from.first;
               while (p < from.first + from.count) {
                 stored_group groups[most_groups];
                 int count = 0;
                 double* sums = t.memory->sums;
                 for (; p < from.first + from.count && count < most_groups; ++p) {
                   if (all_zero(filled, *p)) continue;
                   const int doubles = images_of(p->mask) * moments * lanes;
                   if (std::end(t.memory->sums) - sums < doubles) break;
                   with_mask(p->mask, [&]<int mask>() {
                     if constexpr (at_once)
                       add_low_degrees<order, moments, mask>(*p, own + i, t.tile.stride, sums, sum);
                     else
                       store_sums<mask>(*p, own + i, t.tile.stride, moments, sums);
                     for (int s = 0; s < 8; ++s) groups[count].sums[s] = sums + place_of(mask, s) * moments * lanes;
                   });
                   groups[count++].constants = p->constants;
                   sums += doubles;
                 }
                 if constexpr (points) {
                   add_degrees<order, 0, 1>(groups, count, at, cells);
                 } else {
                   if constexpr (!at_once) add_degrees<order, 0, 2>(groups, count, at, cells);
                   add_degrees<order, 3, 3>(groups, count, at, cells);
                   if constexpr (order >= 4) add_degrees<order, 4, 4>(groups, count, at, cells);
                   if constexpr (order >= 5) add_degrees<order, 5, 5>(groups, count, at, cells);
                   if constexpr (order >= 6) add_degrees<order, 6, 6>(groups, count, at, cells);
                 }
               }
               for (int c = 0; c < low; ++c) store(at + c * cells, sum[c]);
             }
           });
}

/// Potentials and gradients of point masses: add(entry, cells in the tile, sums).
template <int constants, class Add>
PLX_INLINE void add_points(const sum_task& t, partners kind, Add&& add) {
  const std::ptrdiff_t cells = std::ptrdiff_t{t.n} * t.n * t.n;
  for_rows(t, kind, least_order, constants,
           [&](std::ptrdiff_t to, const place_list& from, const double* own, const std::uint8_t* filled) {
             constexpr int together = lanes < 8 ? 2 : 1;  // vectors that share the constants
             for (int i = 0; i < t.n; i += together * lanes) {
               vd sum[together][4];
               for (int v = 0; v < together; ++v)
                 for (int c = 0; c < 4; ++c) sum[v][c] = load(t.to + c * cells + to + i + v * lanes);
               for (const partner_place* p = from.first; p < from.first + from.count; ++p) {
                 if (all_zero(filled, *p)) continue;
                 for (int v = 0; v < together; ++v) add(*p, own + i + v * lanes, sum[v]);
               }
               for (int v = 0; v < together; ++v)
                 for (int c = 0; c < 4; ++c) store(t.to + c * cells + to + i + v * lanes, sum[v][c]);
             }
           });
}

void add_masses(const sum_task& t, partners kind) {
  if (kind == partners::direct)
    return add_points<4>(t, kind, [](const partner_place& p, const double* own, vd(&sum)[4]) {
      with_mask(p.mask, [&]<int mask>() {
        vd sums[8];
        image_sums(
            mask, [&](int c) { return load_image<mask>(own + p.rows[c >> 1], p.dx, c); }, sums);
        add_masses_of_group([&](int k) { return load_pair(p.constants + 2 * k); }, sums, sum);
      });
    });
  add_points<4>(t, kind, [](const partner_place& p, const double* own, vd(&sum)[4]) {
    const vd mass = load(own + p.rows[0] + p.dx);
    for (int c = 0; c < 4; ++c) sum[c] = sum[c] + load_pair(p.constants + 2 * c) * mass;
  });
}

void add_finer(const sum_task& t) {
  const std::ptrdiff_t stride = t.tile.stride;
  add_points<32>(t, partners::finer, [stride](const partner_place& p, const double* own, vd(&sum)[4]) {
    const double* from = own + p.rows[0] + p.dx;
    for (int child = 0; child < 8; ++child) {
      const vd mass = load(from + child * stride);
      for (int c = 0; c < 4; ++c) sum[c] = sum[c] + load_pair(p.constants + 8 * child + 2 * c) * mass;
    }
  });
}

/// Values of the parents of a vector of cells that begins at an even x: two cells have the same parent.
PLX_INLINE vd load_parents(const double* p) {
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
  return _mm512_permutexvar_pd(_mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0), _mm512_castpd256_pd512(_mm256_loadu_pd(p)));
#elif defined(__AVX2__)
  return _mm256_permute4x64_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), 0x50);
#else
  return all(*p);
#endif
}

/// Calls f(power, parent, cell) for each vector of cells; power(k): number k of child_powers() of the cells; parent(k):
/// number k of the local expansions of their parents; cell: index of the first.
template <int order, class F>
PLX_INLINE void for_children(const parent_task& t, F&& f) {
  constexpr int count = count_up_to(order);
  const std::ptrdiff_t cells = std::ptrdiff_t{t.n} * t.n * t.n;
  for (int row = 0; row < 4; ++row) {
    double powers[2 * count];  // pairs {even, odd}
    for (int odd = 0; odd < 2; ++odd) {
      const double* from = t.table + static_cast<std::ptrdiff_t>(t.table[powers_at(odd + 2 * row, false)]);
      for (int k = 0; k < count; ++k) powers[2 * k + odd] = from[k];
    }
    for (int k = row >> 1; k < t.n; k += 2)
      for (int j = row & 1; j < t.n; j += 2)
        for (int i = 0; i < t.n; i += lanes) {
          const double* parents = t.from + (std::ptrdiff_t{k / 2} * t.n + j / 2) * t.n + i / 2;
          f([&](int q) { return load_pair(powers + 2 * q); }, [&](int q) { return load_parents(parents + q * cells); },
            (std::ptrdiff_t{k} * t.n + j) * t.n + i);
        }
  }
}

template <int order>
void translate_all(const parent_task& t) {
  constexpr int count = count_up_to(order);
  const std::ptrdiff_t cells = std::ptrdiff_t{t.n} * t.n * t.n;
  for_children<order>(t, [&](auto&& power, auto&& parent, std::ptrdiff_t cell) {
    vd sum[count];
    for (int a = 0; a < count; ++a) sum[a] = load(t.to + a * cells + cell);
    add_local<order>(power, parent, sum);
    for (int a = 0; a < count; ++a) store(t.to + a * cells + cell, sum[a]);
  });
}

template <int order>
void evaluate_all(const parent_task& t) {
  const std::ptrdiff_t cells = std::ptrdiff_t{t.n} * t.n * t.n;
  for_children<order>(t, [&](auto&& power, auto&& parent, std::ptrdiff_t cell) {
    vd sum[4];
    evaluate<order>(power, parent, sum);
    for (int a = 0; a < 4; ++a) store(t.to + a * cells + cell, sum[a]);
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
  with_order(order, [&]<int p>() { add_far<p, false>(t); });
}
void far_points_of(const sum_task& t, int order) {
  with_order(order, [&]<int p>() { add_far<p, true>(t); });
}

void translate_of(const parent_task& t, int order) {
  with_order(order, [&]<int p>() { translate_all<p>(t); });
}
void evaluate_of(const parent_task& t, int order) {
  with_order(order, [&]<int p>() { evaluate_all<p>(t); });
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA

namespace plx::star::gravity::PLX_HYDRO_ISA {

const kernel_table table{star::PLX_HYDRO_ISA::far_of,       star::PLX_HYDRO_ISA::far_points_of,
                         star::PLX_HYDRO_ISA::add_masses,   star::PLX_HYDRO_ISA::add_finer,
                         star::PLX_HYDRO_ISA::translate_of, star::PLX_HYDRO_ISA::evaluate_of};

}  // namespace plx::star::gravity::PLX_HYDRO_ISA
