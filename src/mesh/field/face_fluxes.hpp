// Fluxes through faces of blocks that a step needs besides the blocks themselves: those between levels (flux_register),
// and the outflow through boundaries of the domain (side_totals).
//
// Example: mesh/field/test/flux_register_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "num/exact_sum.hpp"

namespace plx::mesh {

/// Fluxes at faces between levels: there the coarse block's own flux is replaced by the mean of the fine ones, so that
/// the flux out of one block equals the flux into the other and totals are conserved to rounding.
///
/// In each stage every block puts its flux at the faces in wanted_faces(). When the puts of a block and of its
/// finer_face_count() neighbours are done, the block applies the difference to its new values. The next stage's puts
/// may begin once the block has applied: a fine block's next stage waits for it anyway, since it gathers from the
/// coarse one.
///
/// If the two blocks at a face belong to different localities, the owner of the fine one sends coarsened(), which the
/// owner of the coarse one passes to put_coarsened() (mesh/between/halo.hpp).
///
/// Thread safety: put and apply of different blocks may run concurrently; the caller orders put before apply. Cost: put
/// copies a face; apply takes some additions per cell of the faces.
class flux_register {
 public:
  flux_register(int variables, int block_size) : variables_(variables), n_(block_size) {}

  /// Allocates the faces of a mesh and discards all fluxes. Call it after each regrid.
  void resize(const block_mesh& mesh) { resize(mesh, mesh.blocks()); }
  /// As above, for those blocks only: fluxes of other blocks are neither kept nor corrected.
  void resize(const block_mesh& mesh, std::span<const slot_id> blocks);

  /// Faces whose flux must be put, as bits 0..5: those with a coarser or finer neighbour.
  static std::uint32_t wanted_faces(const block_mesh& mesh, slot_id slot);

  /// Stores a face's flux along the positive axis direction.
  /// Shapes: flux: [variable][b][a], N x N; a is the lower, b the higher of the two axes tangential to the face
  ///         (x face: [k][j], y face: [k][i], z face: [j][i]).
  void put(const block_mesh& mesh, slot_id slot, int face, const double* flux);

  std::size_t quarter_doubles() const { return face_doubles() / 4; }  ///< of a coarsened face
  /// The flux that a block has put at a face, on the cells of the coarser neighbour: means of four. Shapes:
  /// [variable][b][a], N/2 x N/2. Requires: the neighbour across the face is coarser, and none of the blocks.
  const double* coarsened(slot_id slot, int face) const {
    return sent_.data() + quarter_doubles() * sent_entry_[slot * face_count + face];
  }
  /// put() for a remote fine block, with its coarsened flux. Requires: the coarser neighbour is one of the blocks.
  void put_coarsened(const block_mesh& mesh, slot_id slot, int face, const double* mean);

  /// Replaces the block's own flux by that of its finer neighbours: adds weight * (own - finer) at upper faces, weight
  /// * (finer - own) at lower ones, to the cells along those faces. Does nothing without finer neighbours. `weight` is
  /// stage coefficient * dt / cell width; `values` is [variable][k][j][i], the block's interior.
  void apply(const block_mesh& mesh, slot_id slot, double weight, double* values) const;

 private:
  std::size_t face_doubles() const { return static_cast<std::size_t>(variables_) * n_ * n_; }
  bool has_entry(slot_id slot, int face) const { return entry_[slot * face_count + face] >= 0; }
  const double* own(slot_id slot, int face) const {
    return fluxes_.data() + 2 * face_doubles() * entry_[slot * face_count + face];
  }
  double* own(slot_id slot, int face) { return const_cast<double*>(std::as_const(*this).own(slot, face)); }
  void coarsen(const double* flux, double* mean, int width) const;
  double* quarter(const block_mesh& mesh, slot_id slot, int face);
  double term(slot_id slot, int face, int variable, const int cell[3]) const;

  int variables_;
  int n_;
  std::vector<std::int32_t> entry_;  // by slot and face: index of the entry in fluxes_, -1 for none
  std::vector<double> fluxes_;       // per entry: the block's own flux, then the mean of the finer ones
  std::vector<std::int32_t>
      sent_entry_;            // by slot and face: index in sent_ if the coarser neighbour is not here, or -1
  std::vector<double> sent_;  // coarsened fluxes
};

/// Cumulative outflow through each boundary of the domain, per variable: sum over time of flux * area * dt.
///
/// Blocks add at any time in any order, each to its own entry; once per step the entries are summed exactly and rounded
/// once, so totals depend neither on the schedule nor on the partition. Thread safety: add() concurrently for different
/// blocks; all else exclusively.
/// Cost: add N^2 additions per variable; 5 ns per face and variable once per step.
class side_totals {
 public:
  explicit side_totals(int variables);

  /// Allocates the entries for the blocks of a mesh; totals are kept. Requires: everything added was folded.
  void resize(const block_mesh& mesh) { resize(mesh, mesh.blocks()); }
  /// As above, for those blocks only: the others belong to other localities.
  void resize(const block_mesh& mesh, std::span<const slot_id> blocks);

  /// Faces of the block on boundaries that are not periodic, as bits 0..5.
  static std::uint32_t wanted_faces(const block_mesh& mesh, slot_id slot);

  /// Adds a face's flux (along the positive axis, shaped as for flux_register::put) times `weight_s`: the step's dt
  /// times the weight of this stage in the whole step (SSP-RK3: 1/6, 1/6, 2/3).
  void add(const block_mesh& mesh, slot_id slot, int face, const double* flux, double weight_s);

  /// Returns the sums of the blocks in a step, by face and variable, and resets them.
  std::vector<exact_sum> take();
  /// Adds the sums of all blocks in a step to the totals.
  void add_step(std::span<const exact_sum> sums);
  /// take() and add_step(), if all blocks are local. Once per step.
  void fold() { add_step(take()); }

  /// Outflow through a boundary (outward positive), in units of the variable times volume.
  double total(int face, int variable) const;
  /// Outflow through all boundaries.
  double total(int variable) const;

  /// Sums and their rounding errors, for a checkpoint; a restored run continues with the same bits.
  std::span<const double> state() const { return totals_; }
  void restore(std::span<const double> state);

 private:
  int variables_;
  std::vector<std::int32_t> entry_;  // by slot and face, -1 if the face is not on a boundary
  std::vector<std::uint8_t> face_;   // per entry
  std::vector<double> parts_;        // per entry and variable
  std::vector<double> totals_;       // per face and variable: sum, compensation
};

}  // namespace plx::mesh
