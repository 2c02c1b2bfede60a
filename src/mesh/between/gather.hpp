// Gathers a block with its ghost cells from the interiors of the blocks around it.
//
// Same level: copied. Finer: the mean of eight cells. Coarser: conservative limited prolongation. Outside the domain:
// the boundary conditions. Every rule is symmetric to the last bit under mirrors and permutations of the axes
// (mesh/field/symmetric.hpp); only ghost cells outside two inflow/outflow boundaries at once depend on the order x, y,
// z.
//
// Thread safety: any number of threads, each with its own scratch, while no task writes the block or those that touch
// it (block_mesh::touching). Cost: docs/mesh.md. Example: mesh/between/test/gather_test.cpp
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "mesh/field/arena.hpp"
#include "mesh/tree/block_mesh.hpp"
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
/// prolonged, [variable][k][j][i] with tile_width(N / 2). One thread at a time; keep one per worker. Allocates once,
/// never shrinks.
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

/// `time`: that of the state, for boundaries of the kind `problem`; without it they are zero gradients.
/// Fills scratch.tile(), [variable][k][j][i] with tile_width(N) cells along each axis, and returns it.
/// Requires: the arena has the mesh's slots and block size; values.inflow for inflow boundaries.
double* gather_tile(const block_mesh& mesh, const arena& values, slot_id slot, const boundary_values& sides,
                    tile_scratch& scratch, reach wanted = reach::full, std::optional<double> time = {});

}  // namespace plx::mesh
