// Scratch memory for one block with its ghost cells, and the loops over its variables.
//
// Thread safety: one thread at a time; keep one per worker. Cost: allocates once, never shrinks.
// Example: mesh/between/test/gather_test.cpp
#pragma once

#include <cstddef>
#include <memory>

#include "mesh/tree/domain.hpp"

namespace plx::mesh {

/// Cells along the edge of a tile: a block and its ghost cells.
constexpr int tile_width(int block_size) { return block_size + 2 * ghosts; }
constexpr int tile_cells(int block_size) {
  return tile_width(block_size) * tile_width(block_size) * tile_width(block_size);
}

/// The ghost cells to be filled.
enum class reach {
  full,   ///< all (N+6)^3 cells
  faces,  ///< across faces only: half the time. Those at edges and corners keep the values of an earlier gather.
};

/// A tile, [variable][k][j][i] with tile_width(N) cells along each axis, and the coarse tile from which ghost cells are
/// prolonged, [variable][k][j][i] with tile_width(N / 2).
class tile_scratch {
 public:
  tile_scratch() = default;
  tile_scratch(int variables, int block_size) { reserve(variables, block_size); }

  void reserve(int variables, int block_size);

  double* tile() { return tile_.get() + margin; }
  const double* tile() const { return tile_.get() + margin; }
  double* coarse() { return coarse_.get() + margin; }

 private:
  static constexpr std::ptrdiff_t margin = 8;  // vector loads may reach that far beyond either end

  struct release {
    void operator()(double* p) const;
  };
  static std::unique_ptr<double[], release> allocate(std::size_t doubles);

  std::unique_ptr<double[], release> tile_, coarse_;
  std::size_t doubles_ = 0;
};

}  // namespace plx::mesh
