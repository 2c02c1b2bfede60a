// The potential of a density on an octree, by the solver of self-gravity (star/gravity), and its values between the
// centres of cells.
//
// Thread safety: const functions from any thread; solve() exclusively, on all workers if a task calls it. Results do
// not depend on the number of workers. Cost: solve: that of a solution of self-gravity; at: about 1 us. Example:
// star/models/test/tree_field_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "star/gravity/options.hpp"

namespace plx::star::models {

/// Potential and its gradient at the centres of the cells of a mesh.
class tree_field {
 public:
  explicit tree_field(mesh::block_mesh mesh);

  const mesh::block_mesh& mesh() const { return mesh_; }
  /// Shapes: [4][n^3] of a block: the potential, then its gradient.
  double* block(mesh::slot_id slot) { return values_.data() + stride_ * static_cast<std::size_t>(slot); }
  const double* block(mesh::slot_id slot) const { return values_.data() + stride_ * static_cast<std::size_t>(slot); }

  /// The potential at a point: that of the surrounding eight centres, each continued with half its gradient to the
  /// point, which reproduces quadratic functions. At the centre of a cell it is the cell's value. Outside of the domain
  /// 0.
  double at(const std::array<double, 3>& x) const;
  /// The centre of a cell, [k][j][i].
  std::array<double, 3> centre(mesh::slot_id slot, int cell) const;

 private:
  using index = std::array<std::int64_t, 3>;
  struct sample {
    double value = 0.0, slope[3] = {};
  };
  sample of_cell(int level, const index& cell) const;
  sample between(int level, const std::array<double, 3>& x) const;

  mesh::block_mesh mesh_;
  std::size_t stride_ = 0;
  std::vector<double> values_;
};

/// Solves for the potential on one mesh.
class attraction {
 public:
  /// Errors: options out of range, in one line. Requires: `options.constant` > 0; the mesh outlives the object.
  static result<std::unique_ptr<attraction>> make(const mesh::block_mesh& mesh,
                                                  const gravity::gravity_options& options);
  ~attraction();

  /// Shapes: [n^3] of a block.
  double* density(mesh::slot_id slot);
  const double* density(mesh::slot_id slot) const;
  /// Writes potential and gradient to `to`, which has the same mesh.
  void solve(tree_field& to);

 private:
  attraction() = default;
  struct passes;
  std::unique_ptr<passes> passes_;
};

}  // namespace plx::star::models
