// One field set of all blocks in one piece of memory: [slot][variable][k][j][i], interiors only (no ghosts).
//
// Thread safety: any number of threads may use blocks of different slots, or read the same one; resize needs the arena
// alone. Cost: block() is one multiplication.
// Example: mesh/arena_test.cpp
#pragma once

#include <cstddef>
#include <vector>

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

  /// Values of a block, [variable][k][j][i]; 64-byte aligned.
  double* block(slot_id slot) { return base_ + static_cast<std::size_t>(slot) * stride_; }
  const double* block(slot_id slot) const { return base_ + static_cast<std::size_t>(slot) * stride_; }

  /// Start of slot 0, and doubles from one slot to the next: what a kernel over all blocks needs (a GPU launch).
  double* base() { return base_; }
  const double* base() const { return base_; }
  std::size_t stride() const { return stride_; }

  std::size_t slots() const { return slots_; }
  int block_size() const { return block_size_; }
  int variable_count() const { return static_cast<int>(variables_.size()); }
  /// Cells of a block: the distance of one variable to the next.
  int cells() const { return block_size_ * block_size_ * block_size_; }
  const std::vector<variable>& variables() const { return variables_; }

 private:
  std::vector<variable> variables_;
  int block_size_;
  std::size_t stride_;
  std::size_t slots_ = 0;
  std::size_t capacity_ = 0;  // slots that the memory has room for
  double* base_ = nullptr;
};

}  // namespace plx::mesh
