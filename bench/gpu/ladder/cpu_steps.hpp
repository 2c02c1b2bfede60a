// Steps of a gas with the CPU's kernels as tasks: the first rung of the ladder.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "star/device/reference_stepper_test.hpp"

namespace plx::bench {

class cpu_steps {
 public:
  /// Requires: a mesh of one level; fluxes are used for the outflow only.
  cpu_steps(const mesh::block_mesh& mesh, const star::device::gas_options& o, unsigned workers);
  ~cpu_steps();
  /// Called in a task. Every worker takes blocks until none are left, once per stage.
  void step();

  mesh::arena now;
  double dt = 1e-5;

 private:
  struct hand;
  void advance(hand& mine, int stage, mesh::slot_id slot);

  const mesh::block_mesh& mesh_;
  const star::device::gas_options o_;
  mesh::arena a_, b_;
  std::vector<std::unique_ptr<hand>> hands_;
};

}  // namespace plx::bench
