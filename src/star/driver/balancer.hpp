// Load balancing: decides when blocks move to other localities, and which. The curve is partitioned again by measured
// block costs once the time lost to imbalance since the last move exceeds the cost of a move.
//
// All localities know all weights and make the same decision. A new block starts with its parent's weight, a merged one
// with the mean of its children's.
//
// Thread safety: none; between steps. Cost: measure() exchanges one number per block, everything else takes some ns per
// block. Example: star/driver/test/balancer_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/tree/curve_parts.hpp"
#include "mesh/tree/regrid.hpp"
#include "star/driver/block_costs.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

class balancer {
 public:
  /// Collects the costs of local blocks since the last call and shares them. All localities call it, each in a task.
  void measure(const gas& g, block_costs& costs);
  /// Sets the weights of new blocks.
  void carry(std::span<const mesh::family> refined, std::span<const mesh::family> merged);
  /// The partition for a mesh whose blocks are distributed as `held`: `held` itself, or a better one where it pays.
  /// Shapes: block_bytes: bytes that move with a block; steps: advanced since the last call.
  mesh::curve_parts decide(const mesh::block_mesh& mesh, const mesh::curve_parts& held, std::size_t block_bytes,
                           std::int64_t steps);
  /// Records what a move took here: `bytes` sent or received in move_s, and rebuild_s for everything else.
  void moved(std::size_t bytes, double move_s, double rebuild_s);

  /// Last measured seconds per step of a block; for tests.
  double weight(mesh::slot_id slot) const {
    return static_cast<std::size_t>(slot) < weights_.size() ? weights_[slot] : 0.0;
  }
  void set_weight(mesh::slot_id slot, double seconds);
  /// Largest load of a locality divided by the mean, at the last decide().
  double imbalance() const { return imbalance_; }
  /// Number of times decide() has returned another partition.
  std::int64_t decisions() const { return decisions_; }

 private:
  std::vector<double> weights_;  // by slot, seconds per step; 0: unknown
  // Cost of moving: estimates until the first move, then as measured by the slowest locality.
  double byte_s_ = 1e-9, rebuild_s_ = 1e-3;
  double my_byte_s_ = byte_s_, my_rebuild_s_ = rebuild_s_;
  double lost_s_ = 0.0;  // to imbalance, since the last move
  double imbalance_ = 1.0;
  std::int64_t decisions_ = 0;
};

/// The partition of the next mesh before any block moves: children belong to their parent's locality, a merged block to
/// that of its first child.
mesh::curve_parts inherited_parts(const mesh::regrid_plan& plan, const mesh::block_mesh& old,
                                  const mesh::curve_parts& parts);

}  // namespace plx::star
