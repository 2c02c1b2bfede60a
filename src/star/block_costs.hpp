// Seconds of work per block since the last time they were written, and the steps that this work advanced the block by;
// both are carried along when the mesh changes, so that seconds per step and block stay true.
//
// Thread safety: none; between steps. It changes nothing in the physics. Cost: some ns per block and call.
// Example: star/block_costs_test.cpp
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "mesh/regrid.hpp"

namespace plx::probe {
class recorder;
}

namespace plx::star {

class block_costs {
 public:
  /// Counts a step of every block.
  void stepped(std::span<const mesh::slot_id> blocks);
  /// Adds what tasks with the slots as keys have cost since the last call.
  void collect(probe::recorder& r);
  /// Seconds that these blocks have taken together, alike.
  void add(std::span<const mesh::slot_id> blocks, double seconds);
  /// Children get an eighth each of their parent's seconds and steps, a parent the sums of its children's.
  void move(std::span<const mesh::family> refined, std::span<const mesh::family> merged);
  void clear();

  struct entry {
    double seconds = 0.0, steps = 0.0;
  };
  /// A block that comes from elsewhere, or goes there (nothing is left).
  void set(mesh::slot_id slot, const entry& cost) { at(slot) = cost; }
  /// What came in since the last call, by slot; it is not carried along when the mesh changes.
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
