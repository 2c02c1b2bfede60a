// Sums over partners for all cells of a node, by rows of cells: the part of gravity that takes the time. One source,
// compiled once per instruction set; active_isa() selects (star/hydro/isa.hpp).
//
// Thread safety: pure. Cost: see expansion.hpp, per cell and partner.
// Example: star/gravity/test/kernels_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "star/gravity/lattice.hpp"
#include "star/hydro/isa.hpp"

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

/// Room for the positions of a list's partners and those of eight images of mirrored ones: the reach is at most 7.
inline constexpr std::size_t most_offsets = 15 * 15 * 15 + 8 * 8 * 8 * 8;

/// Adds the contribution of the partners in a list to `to`: [value][n^3].
struct sum_task {
  const double* table = nullptr;  ///< lattice_table::values
  tile_view tile;
  int n = 8;
  double* to = nullptr;
  std::ptrdiff_t* offsets = nullptr;  ///< memory for most_offsets of them
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
