// What has left the domain through each side, per variable: sum over time of flux * area * dt.
//
// Blocks add at any time in any order, each to its own place; fold() adds these in the order of the curve, so totals do
// not depend on the schedule. Thread safety: add() of different blocks at the same time; fold, resize alone.
// Cost: add N^2 additions per variable. Example: mesh/flux_register_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/block_mesh.hpp"

namespace plx::mesh {

class side_totals {
 public:
  explicit side_totals(int variables);

  /// Makes room for the blocks of a mesh; totals stay. Requires: everything added was folded.
  void resize(const block_mesh& mesh);

  /// Faces of the block at sides that are not periodic, as bits 0..5.
  static std::uint32_t wanted_faces(const block_mesh& mesh, slot_id slot);

  /// Adds a face's flux (along the positive axis, shaped as for flux_register::put) times `weight_s`: the step's dt
  /// times the weight of this stage in the whole step (SSP-RK3: 1/6, 1/6, 2/3).
  void add(const block_mesh& mesh, slot_id slot, int face, const double* flux, double weight_s);

  /// Moves what the blocks added into the totals. Once per step.
  void fold(const block_mesh& mesh);

  /// What has left through a side (outward positive), in units of the variable times volume.
  double total(int face, int variable) const;
  /// Through all sides.
  double total(int variable) const;

  /// Sums and their rounding errors, for a checkpoint; restoring continues bitwise.
  std::span<const double> state() const { return totals_; }
  void restore(std::span<const double> state);

 private:
  int variables_;
  std::vector<std::int32_t> entry_;  // by slot and face, -1 where there is no side
  std::vector<double> parts_;        // per entry and variable
  std::vector<double> totals_;       // per face and variable: sum, compensation
};

}  // namespace plx::mesh
