// Load balancing: measured costs of blocks (block_costs); when and which blocks move to other localities (balancer).
//
// Thread safety: none; between steps. Does not affect the physics. Cost: some ns per block and call;
// balancer::measure() exchanges one number per block. Example: star/driver/test/balancer_test.cpp,
// star/driver/test/block_costs_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "mesh/tree/regrid.hpp"
#include "star/state/gas.hpp"

namespace plx::probe {
class recorder;
}
namespace plx::step {
class node_graph;
}

namespace plx::star {

/// Seconds of work per block since the last mesh file, and the steps by which this work advanced the block. Both are
/// carried over when the mesh changes, so that seconds per step and block remain valid.
class block_costs {
 public:
  /// Counts a step of each block.
  void stepped(std::span<const mesh::slot_id> blocks);
  /// Adds the cost since the last call of tasks whose keys are nodes of the mesh (step/task_runner.hpp). The cost of a
  /// refined node, such as that of the interactions of self-gravity, goes to the local blocks below it in equal shares,
  /// so the sum over local blocks is the time that this locality has spent. Call it before the mesh changes.
  void collect(probe::recorder& r, const step::node_graph& nodes);
  /// Adds the time that these blocks took together, in equal shares.
  void add(std::span<const mesh::slot_id> blocks, double seconds);
  /// Children get an eighth each of their parent's seconds and steps; a parent gets the sums of its children's.
  void move(std::span<const mesh::family> refined, std::span<const mesh::family> merged);
  void clear();

  struct entry {
    double seconds = 0.0, steps = 0.0;
  };
  /// Sets the cost of a block that was received, or resets that of one that was sent.
  void set(mesh::slot_id slot, const entry& cost) { at(slot) = cost; }
  /// Costs added since the last call, by slot; not carried over when the mesh changes.
  std::vector<entry> take_recent() { return std::exchange(recent_, {}); }
  entry of(mesh::slot_id slot) const {
    return slot < static_cast<int>(entries_.size()) ? entries_[static_cast<std::size_t>(slot)] : entry{};
  }

 private:
  entry& at(mesh::slot_id slot) { return at(entries_, slot); }
  static entry& at(std::vector<entry>& all, mesh::slot_id slot);
  void add(mesh::slot_id slot, double seconds);
  std::vector<entry> entries_, recent_;  // by slot
};

/// Decides when blocks move to other localities, and which. The curve is partitioned again by measured block costs once
/// the time lost to imbalance since the last move exceeds the cost of a move.
///
/// All localities know all weights and make the same decision. A new block starts with its parent's weight, a merged
/// one with the mean of its children's.
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
