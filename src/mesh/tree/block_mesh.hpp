// The octree of blocks: which blocks exist, their locations and their neighbours. It contains no values.
//
// A mesh is immutable, except for its votes: regrid (mesh/tree/regrid.hpp) makes the next one. A block keeps its slot,
// the index of its memory in every arena, during its lifetime.
//
// Thread safety: const; any thread. Copies are independent. Cost: queries O(1), find() O(log blocks); building takes
// some us per block. Example: mesh/tree/test/block_mesh_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/domain.hpp"

namespace plx::mesh {

using slot_id = std::int32_t;
inline constexpr slot_id no_slot = -1;

/// A leaf of the octree, the input of a mesh.
struct leaf {
  location where;
  slot_id slot = no_slot;
  std::int32_t coarsen_votes = 0;  ///< consecutive checks in which this block requested coarsening
};

enum class flag : std::int8_t;  // mesh/tree/regrid.hpp

enum class relation : std::uint8_t {
  same,     ///< one block of the same level
  coarser,  ///< one block, one level coarser (for an edge or corner it may also be the neighbour across a face)
  finer,    ///< the finer blocks that touch: 4 across a face, 2 across an edge, 1 at a corner
  side,     ///< outside of the domain
};

/// The neighbour in one direction of a block.
struct neighbour {
  relation kind = relation::side;
  std::uint8_t count = 0;
  /// The first `count` are valid. Finer ones in the order of their halves along the axes tangential to the direction,
  /// lowest axis fastest.
  std::array<slot_id, 4> slots{no_slot, no_slot, no_slot, no_slot};
};

/// A neighbour across a face.
struct face_neighbour {
  int face = 0;
  slot_id slot = no_slot;
};

/// A box of cells of a coarse tile that must be filled before ghost cells are prolonged (mesh/between/gather.cpp):
/// cells lo <= c < hi, where 0 is the first cell under the block, all in the region of one direction.
struct coarse_box {
  std::uint8_t direction = 0;
  std::array<std::int8_t, 3> lo{};
  std::array<std::int8_t, 3> hi{};
};

class block_mesh {
 public:
  /// The root grid. Requires: d.check().
  explicit block_mesh(const domain& d);

  /// Leaves in any order. Requires: they cover the domain once and are 2:1 balanced; slots are distinct, or no_slot for
  /// all: then slots follow the curve.
  block_mesh(const domain& d, std::vector<leaf> leaves);

  /// As above, for a mesh that differs little from another one: the neighbours of a block are copied if the block and
  /// all that touch it are in both meshes, in the same slots. The result is the same.
  block_mesh(const block_mesh& previous, std::vector<leaf> leaves);

  /// As above, for leaves from outside the program (a file). Errors: one line about the first violation.
  static result<block_mesh> from_leaves(const domain& d, std::vector<leaf> leaves);

  /// The same mesh with other counts of coarsening requests (by slot).
  block_mesh with_votes(std::span<const std::int32_t> votes) const;

  const domain& box() const { return domain_; }
  int block_size() const { return domain_.block_size; }

  std::size_t block_count() const { return curve_.size(); }
  /// Slots are 0..slot_count()-1; some may be free.
  std::size_t slot_count() const { return blocks_.size(); }
  /// All blocks in the order of the space-filling curve: the order of every sum over blocks.
  std::span<const slot_id> blocks() const { return curve_; }
  /// Position of a block in blocks(), -1 for a free slot.
  int position(slot_id slot) const { return blocks_[slot].position; }
  bool is_live(slot_id slot) const {
    return slot >= 0 && slot < static_cast<slot_id>(blocks_.size()) && position(slot) >= 0;
  }

  const location& where(slot_id slot) const { return blocks_[slot].where; }
  int level(slot_id slot) const { return levels_[slot]; }
  int deepest() const { return deepest_; }
  std::int32_t coarsen_votes(slot_id slot) const { return votes_[slot]; }

  // ---- flat tables, for checks of all blocks that must be fast (mesh/tree/regrid.hpp)

  /// The levels of the blocks by slot; -1: a free slot.
  std::span<const std::int8_t> levels() const { return levels_; }
  /// coarsen_votes() by slot; 0 of a free slot.
  std::span<const std::int32_t> votes() const { return votes_; }
  /// Families of eight blocks that no finer block touches, as positions of their first blocks in blocks(): the other
  /// seven follow there. These alone can be merged while no other block changes.
  std::span<const std::int32_t> loose_families() const { return loose_families_; }
  /// Sets the votes of all blocks: one more, up to `most`, if the block requests coarsening, else 0. The only change of
  /// a mesh. Shapes: flags: by slot.
  void count_votes(std::span<const flag> flags, std::int32_t most);

  double cell_width(slot_id slot) const { return domain_.cell_width(level(slot)); }
  /// Lower corner of a block.
  std::array<double, 3> lower(slot_id slot) const;
  /// Centre of cell i of a block along an axis; i may be that of a ghost cell, -3..N+2.
  double centre(slot_id slot, int axis, int i) const;

  const neighbour& around(slot_id slot, int direction) const { return blocks_[slot].around[direction]; }
  const neighbour& across(slot_id slot, int face) const { return around(slot, face_direction(face)); }
  /// All other live blocks that touch this one, ascending, without duplicates (through periodic boundaries, too; never
  /// the block itself). gather_tile reads exactly these.
  std::span<const slot_id> touching(slot_id slot) const;

  /// Number of blocks one level finer across faces, whose fluxes this block waits for (flux_register::apply).
  int finer_face_count(slot_id slot) const { return blocks_[slot].finer_faces * 4; }
  /// Blocks one level coarser across faces, which wait for this block's fluxes. At most 3.
  std::span<const face_neighbour> coarser_face_neighbours(slot_id slot) const {
    return {blocks_[slot].coarser_faces.data(), static_cast<std::size_t>(blocks_[slot].coarser_face_count)};
  }

  /// The block at exactly this location, or no_slot.
  slot_id find(const location& l) const;
  /// The block that covers this location (itself or coarser), or no_slot if the location is refined further or outside.
  slot_id find_covering(const location& l) const;

  /// The directions of each relation as bits 0..26, for the ghost cells (mesh/between/gather.cpp).
  std::uint32_t directions_with(slot_id slot, relation r) const { return blocks_[slot].masks[static_cast<int>(r)]; }
  /// Boxes of the coarse tile that ghost cells in coarser blocks need: all of them, or those across faces only.
  std::span<const coarse_box> coarse_boxes(slot_id slot, bool faces_only) const;

 private:
  struct block {
    location where;
    int position = -1;
    std::array<neighbour, direction_count> around{};
    std::array<std::uint32_t, 4> masks{};
    std::array<face_neighbour, 3> coarser_faces{};
    std::int8_t coarser_face_count = 0;
    std::int8_t finer_faces = 0;
    std::uint32_t touching_begin = 0, touching_end = 0;  // in touching_
    std::array<std::uint16_t, 2> boxes{};                // in box_lists_: for all ghost cells, for those across faces
  };

  // The boxes for one set of coarser directions: a few hundred lists cover all blocks.
  struct box_list {
    std::uint32_t coarser = 0;
    std::vector<coarse_box> boxes;
  };

  result<void> adopt(std::vector<leaf> leaves, const block_mesh* previous);
  void build_roots();
  result<void> link(const block_mesh* previous);
  result<void> link(slot_id slot);
  void list_loose_families();
  bool take_over(slot_id slot, const block_mesh& previous, std::span<const std::uint8_t> kept);
  void count_faces(block& b);
  result<neighbour> look(const location& from, int direction) const;
  int candidate(const location& l) const;
  void list_touching(block& b);
  std::uint16_t boxes_for(std::uint32_t coarser);

  domain domain_;
  int deepest_ = 0;
  std::vector<slot_id> curve_;
  std::vector<block> blocks_;        // by slot
  std::vector<std::int8_t> levels_;  // by slot
  std::vector<std::int32_t> votes_;  // by slot
  std::vector<std::int32_t> loose_families_;
  std::vector<std::uint64_t> keys_;       // by position: key inside the tree
  std::vector<std::int32_t> tree_rank_;   // by lexicographic index of the root block: its position on the curve
  std::vector<std::int32_t> tree_begin_;  // by rank: first position of the tree's leaves; one more at the end
  std::vector<slot_id> touching_;
  std::vector<box_list> box_lists_;
};

// ---- the partition of the blocks among localities: which blocks a part has, and where to cut the curve for parts of
// about equal cost. Cost: part_of() is a binary search among the parts, cut_curve() O(blocks). Example:
// mesh/tree/test/curve_cut_test.cpp

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
