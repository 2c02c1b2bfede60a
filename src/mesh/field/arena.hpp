// The values of one field set for all blocks, in one allocation: [row][variable][k][j][i], interiors only (no ghost
// cells).
//
// A block's slot determines its row of the memory. If all blocks are local, the row has the number of the slot; a
// locality that owns some of the blocks has rows for those only: hold() and hold_only().
//
// Thread safety: any number of threads may use blocks of different slots, or read the same one; changes of rows need
// exclusive access. Cost: block() is one table access and a multiplication.
// Example: mesh/field/test/arena_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "mesh/field/field_info.hpp"
#include "mesh/tree/block_mesh.hpp"

namespace plx::mesh {

class arena {
 public:
  /// An arena without slots. All field sets of a simulation have the same fields and block size.
  arena(std::vector<field_info> fields, int block_size);
  ~arena();
  arena(arena&& other) noexcept;
  arena& operator=(arena&& other) noexcept;

  /// Allocates slots 0..slots-1; never shrinks. Values are kept, new ones are unspecified: memory is touched first, and
  /// so gets its place in the machine, by the workers that write it. Moves blocks in memory: pointers become invalid.
  /// Called only when the topology changes.
  void resize(std::size_t slots);

  /// Allocates rows for these blocks, among slots 0..slots-1; values of others are kept. Moves blocks in memory as
  /// resize() does. The values of new rows are unspecified.
  void hold(std::size_t slots, std::span<const slot_id> wanted);
  /// The same, and releases the rows of all other blocks for reuse.
  void hold_only(std::size_t slots, std::span<const slot_id> wanted);
  /// Does the block have memory on this locality?
  bool holds(slot_id slot) const { return static_cast<std::size_t>(slot) < row_of_.size() && row_of_[slot] >= 0; }

  /// Values of a block, [variable][k][j][i]; 64-byte aligned. Requires: holds(slot).
  double* block(slot_id slot) { return base_ + row(slot) * stride_; }
  const double* block(slot_id slot) const { return base_ + row(slot) * stride_; }

  /// Start of row 0, and doubles from one row to the next: arguments of a kernel over all blocks (a GPU launch).
  double* base() { return base_; }
  const double* base() const { return base_; }
  std::size_t stride() const { return stride_; }
  /// The row of a block. Requires: holds(slot).
  std::size_t row(slot_id slot) const {
    const std::int32_t row = row_of_[slot];
    PLX_ASSERT(row >= 0, slot);
    return static_cast<std::size_t>(row);
  }

  std::size_t slots() const { return row_of_.size(); }
  std::size_t rows() const { return rows_; }  ///< in use or released
  int block_size() const { return block_size_; }
  int variable_count() const { return table_.count; }
  /// Cells of a block: the distance from one variable to the next.
  int cells() const { return block_size_ * block_size_ * block_size_; }
  const std::vector<field_info>& fields() const { return fields_; }
  const field_table& table() const { return table_; }

 private:
  std::vector<field_info> fields_;
  field_table table_;
  int block_size_;
  std::size_t stride_;
  void take_row(slot_id slot);
  void reserve(std::size_t rows);

  std::vector<std::int32_t> row_of_;  // by slot, -1: none
  std::vector<std::int32_t> free_;    // released rows
  std::size_t rows_ = 0;
  std::size_t capacity_ = 0;  // rows for which memory is allocated
  double* base_ = nullptr;
};

}  // namespace plx::mesh
