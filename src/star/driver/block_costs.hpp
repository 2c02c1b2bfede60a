// Seconds of work per block since the last mesh file, and the steps by which this work advanced the block. Both are
// carried over when the mesh changes, so that seconds per step and block remain valid.
//
// Thread safety: none; between steps. Does not affect the physics. Cost: some ns per block and call.
// Example: star/driver/test/block_costs_test.cpp
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "mesh/tree/regrid.hpp"

namespace plx::probe {
class recorder;
}

namespace plx::star {

class block_costs {
 public:
  /// Counts a step of each block.
  void stepped(std::span<const mesh::slot_id> blocks);
  /// Adds the cost since the last call of tasks whose keys are slots.
  void collect(probe::recorder& r);
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
  std::vector<entry> entries_, recent_;  // by slot
};

}  // namespace plx::star
