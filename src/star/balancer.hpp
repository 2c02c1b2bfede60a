// When blocks go to other localities, and which: the curve is cut anew from what blocks were measured to cost, when
// what the imbalance has cost since the last time is more than moving costs.
//
// All localities know all weights and decide the same. A new block begins with its parent's weight, a merged one with
// the mean of its children's.
//
// Thread safety: none; between steps. Cost: measure() is one exchange of a number per block, all else some ns per
// block. Example: star/balancer_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/curve_parts.hpp"
#include "mesh/regrid.hpp"
#include "star/block_costs.hpp"
#include "star/gas.hpp"

namespace plx::star {

class balancer {
 public:
  /// Takes what own blocks have cost since the last call, and tells everybody. All localities call it, each in a task.
  void measure(const gas& g, block_costs& costs);
  /// Weights of new blocks.
  void carry(std::span<const mesh::family> refined, std::span<const mesh::family> merged);
  /// Who shall have which block of a mesh whose blocks lie as `held` says: that, or better parts where it pays. Shapes:
  /// block_bytes: what moves with a block; steps: advanced since the last call.
  mesh::curve_parts decide(const mesh::block_mesh& mesh, const mesh::curve_parts& held, std::size_t block_bytes,
                           std::int64_t steps);
  /// What a move took here: blocks' bytes that went or came in move_s, and rebuild_s for all else.
  void moved(std::size_t bytes, double move_s, double rebuild_s);

  /// Seconds per step of a block, as last measured; for tests.
  double weight(mesh::slot_id slot) const {
    return static_cast<std::size_t>(slot) < weights_.size() ? weights_[slot] : 0.0;
  }
  void set_weight(mesh::slot_id slot, double seconds);
  /// Largest load of a locality over the mean, at the last decide().
  double imbalance() const { return imbalance_; }
  /// How often decide() has asked for other parts.
  std::int64_t decisions() const { return decisions_; }

 private:
  std::vector<double> weights_;  // by slot, seconds per step; 0: not known
  // What moving costs: guesses until the first time, then what the slowest locality has measured.
  double byte_s_ = 1e-9, rebuild_s_ = 1e-3;
  double my_byte_s_ = byte_s_, my_rebuild_s_ = rebuild_s_;
  double lost_s_ = 0.0;  // by imbalance, since blocks were moved
  double imbalance_ = 1.0;
  std::int64_t decisions_ = 0;
};

/// Who has which block of the next mesh when nothing has moved yet: children where their parent was, a merged block
/// where its first child was.
mesh::curve_parts inherited_parts(const mesh::regrid_plan& plan, const mesh::block_mesh& old,
                                  const mesh::curve_parts& parts);

}  // namespace plx::star
