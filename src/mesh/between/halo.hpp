// The exchange of localities in a stage: the ghost cells of blocks at the border of a part (halo), and fluxes at faces
// between levels that are also faces between localities (flux_halo). Sender and receiver derive the same lists, in the
// same order, from the mesh and the partition alone. Blocks for one peer are divided into groups along the curve. A
// group is one message; it is sent when its last block has finished.
//
// A *mirror* is a block of another locality that touches a local one. It has memory here, at its own slot; received
// boxes are copied to their position in the block, so gather_tile() and prolongation read them like local blocks. A
// mirror that no tile reads (it touches at an edge, and the reach is faces) is in the lists, too, without boxes: a
// block that waits for its neighbours must know when these have finished a stage, even if it only overwrites what they
// read.
//
// Thread safety: const; any thread. Cost: construction takes about 2 us per block at the border of a part, for fluxes
// some ns per block; packing is a copy. Example: mesh/between/test/halo_test.cpp, mesh/between/test/flux_halo_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/between/gather.hpp"
#include "mesh/field/arena.hpp"
#include "mesh/tree/block_mesh.hpp"

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

/// One message: blocks of one locality and their cells that another locality reads.
struct halo_group {
  int peer = 0;                       ///< receiver or sender
  std::vector<slot_id> blocks;        ///< along the curve
  std::vector<block_box> boxes;       ///< of blocks[0], of blocks[1], ...
  std::vector<std::uint32_t> box_of;  ///< per block, and one more: its first box
  std::vector<std::size_t> place_of;  ///< per block, and one more: offset of its first value in the message
  std::size_t size() const { return place_of.back(); }  ///< values (doubles)
};

/// The position of a block in a message.
struct halo_place {
  std::int32_t group = 0;  ///< index among sends()
  std::int32_t block = 0;  ///< index in its blocks
};

/// The cells of other localities from which tiles of the local blocks are gathered, with the reach of the scheme.
class halo {
 public:
  /// A halo without peers.
  halo() = default;
  /// For the locality `here`. A group has at most `group_bytes`, or one block.
  halo(const block_mesh& mesh, const curve_parts& parts, int here, int variables, std::size_t group_bytes,
       reach wanted = reach::faces);

  std::span<const halo_group> sends() const { return sends_; }        ///< by peer, then along the curve
  std::span<const halo_group> receives() const { return receives_; }  ///< in the order in which each peer sends them
  /// The first of receives() that comes from a peer.
  int first_receive(int peer) const { return first_receive_[peer]; }
  /// Index of a group among those for its peer; that peer has it as receives()[first_receive(here) + number].
  int number(int send) const { return numbers_[send]; }
  /// The messages that contain a local block.
  std::span<const halo_place> places(slot_id slot) const;
  /// All mirrors, ascending.
  std::span<const slot_id> mirrors() const { return mirrors_; }
  bool empty() const { return sends_.empty() && receives_.empty(); }  ///< no other locality to exchange with

 private:
  void list_places(std::size_t slots);

  std::vector<halo_group> sends_, receives_;
  std::vector<int> first_receive_, numbers_;
  std::vector<slot_id> mirrors_;
  std::vector<std::uint32_t> place_begin_;  // by slot, and one more; empty without peers
  std::vector<halo_place> places_;
};

/// Copies the cells of block `index` of a group to their position in the message.
void pack(const halo_group& group, std::size_t index, const arena& values, double* message);
/// Copies all cells of a message to the mirrors.
void unpack(const halo_group& group, const double* message, arena& values);

/// A face of a fine block; the block across it is coarser and belongs to another locality.
struct fine_face {
  slot_id fine = no_slot;
  int face = 0;  ///< of the fine block
  slot_id coarse = no_slot;

  friend bool operator==(const fine_face&, const fine_face&) = default;
};

/// One message: the coarsened fluxes of faces, one after the other. All faces of a block that one peer reads are in one
/// group.
struct flux_group {
  int peer = 0;
  std::vector<fine_face> faces;
};

/// The owner of the fine block sends its coarsened flux to the owner of the coarse one. Groups are divided along the
/// curve of the fine blocks.
class flux_halo {
 public:
  /// A halo without peers.
  flux_halo() = default;
  /// For the locality `here`. A group has at most `group_faces` faces, or one block's.
  flux_halo(const block_mesh& mesh, const curve_parts& parts, int here, std::size_t group_faces);

  std::span<const flux_group> sends() const { return sends_; }        ///< of local fine blocks; by peer
  std::span<const flux_group> receives() const { return receives_; }  ///< for local coarse blocks; by peer
  /// The first of receives() that comes from a peer.
  int first_receive(int peer) const { return first_receive_[peer]; }
  /// Index of a group among those for its peer.
  int number(int send) const { return numbers_[send]; }

  /// The position of a face's flux in a message.
  struct place {
    int group = -1;  ///< index among sends(), -1: not a face between localities
    int face = 0;    ///< index in its faces
  };
  place place_of(slot_id slot, int face) const;

 private:
  std::vector<flux_group> sends_, receives_;
  std::vector<int> first_receive_, numbers_;
  std::vector<std::int32_t> entry_;  // by slot and face: the number of the face among all that are sent, or -1
  std::vector<place> places_;
};

}  // namespace plx::mesh
