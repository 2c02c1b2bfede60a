#include "star/block_costs.hpp"

#include <algorithm>

#include "probe/recorder.hpp"

namespace plx::star {

double& block_costs::at(mesh::slot_id slot) {
  if (cost_s_.size() <= static_cast<std::size_t>(slot)) cost_s_.resize(slot + 1, 0.0);
  return cost_s_[slot];
}

void block_costs::collect(probe::recorder& r) {
  for (const probe::key_cost& c : r.costs()) at(static_cast<mesh::slot_id>(c.key)) += c.seconds;
  r.reset_costs();
}

// Slots of new blocks were free before, so no cost is read after it was overwritten.
void block_costs::move(std::span<const mesh::family> refined, std::span<const mesh::family> merged) {
  for (const mesh::family& f : refined) {
    const double share = at(f.parent) / 8;
    at(f.parent) = 0.0;
    for (const mesh::slot_id child : f.children) at(child) = share;
  }
  for (const mesh::family& f : merged) {
    double sum = 0.0;
    for (const mesh::slot_id child : f.children) {
      sum += at(child);
      at(child) = 0.0;
    }
    at(f.parent) = sum;
  }
}

void block_costs::clear() { std::fill(cost_s_.begin(), cost_s_.end(), 0.0); }

}  // namespace plx::star
