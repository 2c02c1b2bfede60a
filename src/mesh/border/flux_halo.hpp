// The exchange of fluxes at faces between levels that are also faces between localities: the owner of the fine block
// sends its coarsened flux to the owner of the coarse one. Both derive the same lists, in the same order, from the mesh
// and the partition alone.
//
// Faces for one peer are divided into groups along the curve of the fine blocks. A group is one message; it is sent
// when the last of its blocks has its fluxes.
//
// Thread safety: const; any thread. Cost: construction takes some ns per block. Example:
// mesh/border/test/flux_halo_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "mesh/tree/curve_parts.hpp"

namespace plx::mesh {

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
