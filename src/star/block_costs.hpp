// Seconds of work per block since the last time they were written, carried along when the mesh changes.
//
// Thread safety: none; between steps. It changes nothing in the physics. Cost: some ns per block and call.
// Example: star/block_costs_test.cpp
#pragma once

#include <span>
#include <vector>

#include "mesh/regrid.hpp"

namespace plx::probe {
class recorder;
}

namespace plx::star {

class block_costs {
 public:
  /// Adds what tasks with the slots as keys have cost since the last call.
  void collect(probe::recorder& r);
  /// Children get an eighth each of their parent's cost, a parent the sum of its children's.
  void move(std::span<const mesh::family> refined, std::span<const mesh::family> merged);
  void clear();

  double of(mesh::slot_id slot) const { return slot < static_cast<int>(cost_s_.size()) ? cost_s_[slot] : 0.0; }

 private:
  double& at(mesh::slot_id slot);
  std::vector<double> cost_s_;  // by slot
};

}  // namespace plx::star
