// One field set of all blocks in one piece of memory: [row][variable][k][j][i], interiors only (no ghosts).
//
// A block's slot says which row of the memory it has. Where all blocks are here, that is the row of the same number; a
// locality that has some of the blocks has rows for those only: hold() and hold_only().
//
// Thread safety: any number of threads may use blocks of different slots, or read the same one; what changes rows needs
// the arena alone. Cost: block() is a look-up and a multiplication.
// Example: mesh/arena_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "mesh/block_mesh.hpp"
#include "mesh/domain.hpp"

namespace plx::mesh {

class arena {
 public:
  /// No slots yet. All field sets of a simulation have the same variables and block size.
  arena(std::vector<variable> variables, int block_size);
  ~arena();
  arena(arena&& other) noexcept;
  arena& operator=(arena&& other) noexcept;

  /// Makes room for slots 0..slots-1; never shrinks. Values are kept, new ones are zero. Moves blocks in memory:
  /// pointers become invalid. Called where the topology changes, never between.
  void resize(std::size_t slots);

  /// Makes room for these blocks, among slots 0..slots-1; values of others are kept. Moves blocks in memory as resize()
  /// does. What a new one holds is anything.
  void hold(std::size_t slots, std::span<const slot_id> wanted);
  /// The same, and gives up the memory of all other blocks, to the next ones that are held.
  void hold_only(std::size_t slots, std::span<const slot_id> wanted);
  /// Does the block have memory here?
  bool holds(slot_id slot) const { return static_cast<std::size_t>(slot) < row_of_.size() && row_of_[slot] >= 0; }

  /// Values of a block, [variable][k][j][i]; 64-byte aligned. Requires: holds(slot).
  double* block(slot_id slot) { return base_ + row(slot) * stride_; }
  const double* block(slot_id slot) const { return base_ + row(slot) * stride_; }

  /// Start of row 0, and doubles from one row to the next: what a kernel over all blocks needs (a GPU launch).
  double* base() { return base_; }
  const double* base() const { return base_; }
  std::size_t stride() const { return stride_; }
  /// Which row a block has. Requires: holds(slot).
  std::size_t row(slot_id slot) const {
    const std::int32_t row = row_of_[slot];
    PLX_ASSERT(row >= 0, slot);
    return static_cast<std::size_t>(row);
  }

  std::size_t slots() const { return row_of_.size(); }
  std::size_t rows() const { return rows_; }  ///< in use or given up
  int block_size() const { return block_size_; }
  int variable_count() const { return static_cast<int>(variables_.size()); }
  /// Cells of a block: the distance of one variable to the next.
  int cells() const { return block_size_ * block_size_ * block_size_; }
  const std::vector<variable>& variables() const { return variables_; }

 private:
  std::vector<variable> variables_;
  int block_size_;
  std::size_t stride_;
  void take_row(slot_id slot);
  void reserve(std::size_t rows);

  std::vector<std::int32_t> row_of_;  // by slot, -1: none
  std::vector<std::int32_t> free_;    // rows that were given up
  std::size_t rows_ = 0;
  std::size_t capacity_ = 0;  // rows that the memory has room for
  double* base_ = nullptr;
};

}  // namespace plx::mesh
