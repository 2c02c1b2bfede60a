// What blocks of different localities exchange: the cells of one's blocks that tiles of the other's blocks are gathered
// from, with the reach that the scheme wants. Both sides make the same lists, in the same order, from the mesh and its
// parts alone.
//
// A *mirror* is a block of another locality that touches one's own. It has memory here, at its own slot; the boxes that
// come for it are put where they are in the block itself, so gather_tile() and prolongation read them as ever. A mirror
// that no tile reads (it touches at an edge, and the reach is faces) is in the lists, too, with no boxes: who waits for
// its neighbours has to know when these have finished a stage, also where it only overwrites what they read.
//
// Blocks that are sent to one peer are divided into groups along the curve. A group is one message; it leaves when its
// last block has finished.
//
// Thread safety: const; any thread. Cost: about 2 us per block at the border of a part to make; packing is a copy.
// Example: mesh/halo_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/arena.hpp"
#include "mesh/block_mesh.hpp"
#include "mesh/curve_parts.hpp"
#include "mesh/tile.hpp"

namespace plx::mesh {

/// Cells lo <= c < hi of a block.
struct block_box {
  slot_id slot = no_slot;
  std::array<std::int8_t, 3> lo{};
  std::array<std::int8_t, 3> hi{};

  int cells() const { return (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]); }
  friend bool operator==(const block_box&, const block_box&) = default;
};

/// The cells of other blocks that gather_tile() reads for a block; boxes may overlap.
std::vector<block_box> read_boxes(const block_mesh& mesh, slot_id slot, reach wanted = reach::faces);

/// One message: blocks of one locality and their cells that another one reads.
struct halo_group {
  int peer = 0;                       ///< who gets it, or who sends it
  std::vector<slot_id> blocks;        ///< along the curve
  std::vector<block_box> boxes;       ///< of blocks[0], of blocks[1], ...
  std::vector<std::uint32_t> box_of;  ///< per block, and one more: its first box
  std::vector<std::size_t> place_of;  ///< per block, and one more: the first of its values in the message
  std::size_t size() const { return place_of.back(); }  ///< values (doubles)
};

/// A block's place in a message.
struct halo_place {
  std::int32_t group = 0;  ///< index among sends()
  std::int32_t block = 0;  ///< index in its blocks
};

class halo {
 public:
  /// No peers.
  halo() = default;
  /// For the locality `here`. A group has at most `group_bytes`, or one block.
  halo(const block_mesh& mesh, const curve_parts& parts, int here, int variables, std::size_t group_bytes,
       reach wanted = reach::faces);

  std::span<const halo_group> sends() const { return sends_; }        ///< by peer, then along the curve
  std::span<const halo_group> receives() const { return receives_; }  ///< likewise: those of a peer in its order
  /// The first of receives() that comes from a peer.
  int first_receive(int peer) const { return first_receive_[peer]; }
  /// Index of a group among those for its peer: receives()[first_receive(p) + number] there is the same group.
  int number(int send) const { return numbers_[send]; }
  /// Where a block of one's own goes.
  std::span<const halo_place> places(slot_id slot) const;
  /// All mirrors, ascending.
  std::span<const slot_id> mirrors() const { return mirrors_; }
  bool empty() const { return sends_.empty() && receives_.empty(); }  ///< nobody to exchange with

 private:
  void list_places(std::size_t slots);

  std::vector<halo_group> sends_, receives_;
  std::vector<int> first_receive_, numbers_;
  std::vector<slot_id> mirrors_;
  std::vector<std::uint32_t> place_begin_;  // by slot, and one more; empty without peers
  std::vector<halo_place> places_;
};

/// Copies the cells of block `index` of a group to their place in the message.
void pack(const halo_group& group, std::size_t index, const arena& values, double* message);
/// Copies all cells of a message to the mirrors.
void unpack(const halo_group& group, const double* message, arena& values);

}  // namespace plx::mesh
