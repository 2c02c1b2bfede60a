#include "star/driver/block_costs.hpp"

#include <algorithm>

#include "probe/record/recorder.hpp"

namespace plx::star {

block_costs::entry& block_costs::at(std::vector<entry>& all, mesh::slot_id slot) {
  const auto i = static_cast<std::size_t>(slot);
  if (all.size() <= i) all.resize(i + 1);
  return all[i];
}

void block_costs::stepped(std::span<const mesh::slot_id> blocks) {
  for (const mesh::slot_id slot : blocks) {
    at(slot).steps += 1.0;
    at(recent_, slot).steps += 1.0;
  }
}

void block_costs::add(std::span<const mesh::slot_id> blocks, double seconds) {
  for (const mesh::slot_id slot : blocks) {
    at(slot).seconds += seconds / static_cast<double>(blocks.size());
    at(recent_, slot).seconds += seconds / static_cast<double>(blocks.size());
  }
}

void block_costs::collect(probe::recorder& r) {
  for (const probe::key_cost& c : r.costs()) {
    at(static_cast<mesh::slot_id>(c.key)).seconds += c.seconds;
    at(recent_, static_cast<mesh::slot_id>(c.key)).seconds += c.seconds;
  }
  r.reset_costs();
}

// Slots of new blocks were free before, so no entry is overwritten before it is read.
void block_costs::move(std::span<const mesh::family> refined, std::span<const mesh::family> merged) {
  for (const mesh::family& f : refined) {
    const entry whole = at(f.parent);
    at(f.parent) = {};
    for (const mesh::slot_id child : f.children) at(child) = {whole.seconds / 8, whole.steps / 8};
  }
  for (const mesh::family& f : merged) {
    entry sum;
    for (const mesh::slot_id child : f.children) {
      sum.seconds += at(child).seconds;
      sum.steps += at(child).steps;
      at(child) = {};
    }
    at(f.parent) = sum;
  }
}

void block_costs::clear() { std::fill(entries_.begin(), entries_.end(), entry{}); }

}  // namespace plx::star
