// The partition of blocks among localities, in consecutive parts of the curve: which blocks a part has, and where to
// cut the curve for parts of about equal cost.
//
// Thread safety: const; any thread. Cost: part_of is a binary search among the parts; cut_curve is O(blocks).
// Example: mesh/between/test/halo_test.cpp, mesh/tree/test/curve_cut_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/tree/block_mesh.hpp"

namespace plx::mesh {

/// The curve of blocks, divided into consecutive parts, of which some may be empty: part p is [begin(p), end(p)).
class curve_parts {
 public:
  /// One part with all blocks.
  explicit curve_parts(std::size_t blocks) : begin_{0, static_cast<std::int32_t>(blocks)} {}
  /// Shapes: owner: by position on the curve, ascending, as returned by cut_curve(). Requires: parts >= 1.
  curve_parts(std::span<const std::int32_t> owner, int parts);

  int count() const { return static_cast<int>(begin_.size()) - 1; }  ///< parts
  int begin(int part) const { return begin_[part]; }                 ///< position of its first block
  int end(int part) const { return begin_[part + 1]; }               ///< position after its last one
  /// The part that a position on the curve belongs to.
  int part_of(int position) const;
  /// The part that a live block belongs to.
  int part_of(const block_mesh& mesh, slot_id slot) const { return part_of(mesh.position(slot)); }
  /// The blocks of a part in the order of the curve.
  std::span<const slot_id> blocks(const block_mesh& mesh, int part) const {
    return mesh.blocks().subspan(begin(part), end(part) - begin(part));
  }

  friend bool operator==(const curve_parts&, const curve_parts&) = default;

 private:
  std::vector<std::int32_t> begin_;  // one more than parts
};

/// Owner of each block, ascending along the curve: a block belongs to the part that contains the midpoint of its cost.
/// Shapes:   cost_s: by position on the curve (block_mesh::blocks()); the result, too.
/// No part is empty if there are enough blocks; if all costs are zero, they count as equal.
/// Requires: parts >= 1; costs finite and not negative.
std::vector<std::int32_t> cut_curve(std::span<const double> cost_s, int parts);

}  // namespace plx::mesh
