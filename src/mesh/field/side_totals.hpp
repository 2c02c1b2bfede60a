// Cumulative outflow through each boundary of the domain, per variable: sum over time of flux * area * dt.
//
// Blocks add at any time in any order, each to its own entry; once per step the entries are summed exactly and rounded
// once, so totals depend neither on the schedule nor on the partition. Thread safety: add() concurrently for different
// blocks; all else exclusively.
// Cost: add N^2 additions per variable; 5 ns per face and variable once per step. Example:
// mesh/field/test/flux_register_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "num/exact_sum.hpp"

namespace plx::mesh {

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
