// Sums over partners for all cells of a node, by rows of cells: the part of gravity that takes the time. One source,
// compiled once per instruction set; active_isa() selects (star/hydro/stage.hpp).
//
// Thread safety: pure. Cost: see expansion.hpp, per cell and partner.
// Example: star/gravity/test/kernels_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "star/gravity/lattice.hpp"
#include "star/hydro/stage.hpp"

namespace plx::star::gravity {

/// The values of a node and of the cells around it, zero where there are none: [z][y][value][x], cells -reach ..
/// n+reach-1 along each axis.
struct tile_view {
  const double* values = nullptr;
  int count = 1;  ///< values per cell
  int reach = 0;
  int stride = 0;  ///< doubles from a value of a row to the next one
  /// For each row of cells [z][y] the thirds along x that may hold other values than zeros, as bits: 1 the cells before
  /// the node's, 2 those beside or in it, 4 those after. Null: all.
  const std::uint8_t* filled = nullptr;

  /// Doubles between values of a row: whole vectors of the widest instruction set.
  static constexpr int stride_of(int n, int reach) { return (n + 2 * reach + 7) / 8 * 8; }
};

/// An entry of a list (lattice_table), for rows whose cells have the same partners.
struct partner_place {
  const double* constants;  ///< pairs {even, odd}
  std::ptrdiff_t rows[4];   ///< doubles of the tile from a row to those of the images along y (bit 0) and z (bit 1)
  std::ptrdiff_t dx;
  std::int32_t filled[4];  ///< the same for tile_view::filled
  int mask;
};

/// Memory of a thread for sums over partners.
struct kernel_memory {
  /// Sums over the images of some groups of far partners: at least all moments of the highest order and eight of each,
  /// for the widest vectors.
  alignas(64) double sums[count_up_to(largest_order) * 8 * 8];
  partner_place places[most_entries];
};

/// Adds the contribution of the partners in a list to `to`: [value][n^3].
struct sum_task {
  const double* table = nullptr;  ///< lattice_table::values
  tile_view tile;
  int n = 8;
  double* to = nullptr;
  kernel_memory* memory = nullptr;
};

/// Cells of a node and the local expansions of those of its parent.
struct parent_task {
  const double* table = nullptr;  ///< lattice_table::values
  const double* from = nullptr;   ///< [value][n^3] of the parent, from the first parent of the node's cells on
  int n = 8;
  double* to = nullptr;  ///< [value][n^3]
};

struct kernel_table {
  /// Local expansions; far partners of this order. Tile: moments, at least those of the order.
  void (*far)(const sum_task&, int order);
  /// Potentials and gradients; far partners of this order, as above.
  void (*far_points)(const sum_task&, int order);
  /// Potentials and gradients; direct or coarser partners. Tile: masses.
  void (*points)(const sum_task&, partners kind);
  /// The same of finer partners. Tile: the masses of the eight children of each cell.
  void (*finer)(const sum_task&);
  /// Adds the local expansions of parents.
  void (*translate)(const parent_task&, int order);
  /// Potentials and gradients from the local expansions of parents; sets `to`.
  void (*evaluate)(const parent_task&, int order);
};

/// Requires: one of available_isas().
const kernel_table& kernels_of(isa which) noexcept;

namespace isa_baseline {
extern const kernel_table table;
}
namespace isa_avx2 {
extern const kernel_table table;
}
namespace isa_avx512 {
extern const kernel_table table;
}

}  // namespace plx::star::gravity
