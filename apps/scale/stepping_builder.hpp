// Builds the graph of the stages of one step. Internal to scale: others use step_graph.hpp.
//
// Thread safety: none. Cost: some us per block. Example: step_graph_test.cpp
#pragma once

#include <random>
#include <vector>

#include "step_graph.hpp"

namespace plx::scale {

class stepping_builder {
 public:
  /// Requires: all of them outlive it.
  stepping_builder(const workload& w, const exchange& how, const mesh::block_mesh& m, const mesh::curve_parts& parts);

  /// Called once.
  work_graph build();

 private:
  int owner(mesh::slot_id slot) const { return owner_[slot]; }
  node_id stage(int s, mesh::slot_id slot) const { return stages_[s * slots_ + slot]; }
  node_id correction(int s, mesh::slot_id slot) const { return corrections_[s * slots_ + slot]; }
  /// The last node of a block's stage: its correction, if it has one.
  node_id finish(int s, mesh::slot_id slot) const;
  double jittered(double seconds);
  void add_tasks();
  std::vector<mesh::slot_id> in_order(int locality) const;
  void add_begin(int locality);
  void connect_own(int s, mesh::slot_id slot);
  void release(node_id message, int s, mesh::slot_id neighbour);
  double face_bytes() const;
  void add_ghost_groups(int locality);
  void add_flux_groups(int locality);
  void add_single_ghosts(mesh::slot_id slot);
  void add_single_fluxes(mesh::slot_id slot);

  const workload& work_;
  const exchange& how_;
  const mesh::block_mesh& mesh_;
  const mesh::curve_parts& parts_;
  std::size_t slots_;
  std::vector<int> owner_;                     // by slot
  std::vector<node_id> stages_, corrections_;  // by stage and slot
  reduction end_;
  work_graph g_;
  std::mt19937_64 random_;
};

}  // namespace plx::scale
